#include "core/policy.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

const Rate kRate{60, Millis{60'000}, 10};

TEST(Policy, TypesHaveDefaults) {
  Policy policy;
  policy.types["eng"].queue = "q";
  EXPECT_EQ(policy.queue_of("eng"), "q");
  EXPECT_EQ(policy.queue_of("ops"), "ops");
  EXPECT_EQ(policy.type("ops"), TypePolicy{});
}

Policy example() {
  Policy policy;
  policy.queues["eng"].gate.permits = 10;
  policy.queues["ops"].max_waiting = 5;
  policy.owners["alice"] = {.weight = 3, .gate = {.permits = 2, .rate = std::nullopt}};
  policy.other_owners.gate.permits = 20;
  policy.gates["provider:p"].permits = 8;
  policy.gates["lock:three"].permits = 3;
  policy.gates["lock:slow"].rate = kRate;
  policy.gates["type:t"] = {};
  return policy;
}

TEST(Policy, WhatHoldsForAGate) {
  const Policy policy = example();
  const std::pair<std::string_view, GatePolicy> cases[] = {
      {"queue:eng", {10, std::nullopt}},
      {"queue:ops", {}},
      {"queue:other", {}},
      {"owner:alice", {2, std::nullopt}},
      {"owner:bob", {20, std::nullopt}},
      {"owner:*", {20, std::nullopt}},
      {"provider:p", {8, std::nullopt}},
      {"provider:q", {}},
      {"lock:three", {3, std::nullopt}},
      {"lock:slow", {1, kRate}},
      {"lock:other", {1, std::nullopt}},
      {"all", {}},
      {"type:t", {}},
  };
  for (const auto& [name, limits] : cases) EXPECT_EQ(policy.gate(name), limits) << name;
}

TEST(Policy, WhichGatesTheDocumentNames) {
  const Policy policy = example();
  for (const std::string_view name : {"queue:eng", "owner:alice", "owner:*", "provider:p", "lock:three", "lock:slow"}) {
    EXPECT_TRUE(policy.names_gate(name)) << name;
  }
  for (const std::string_view name :
       {"queue:ops", "queue:other", "owner:bob", "provider:q", "lock:other", "all", "type:t"}) {
    EXPECT_FALSE(policy.names_gate(name)) << name;
  }
  EXPECT_FALSE(Policy{}.names_gate("owner:*"));
}

}  // namespace
}  // namespace drover
