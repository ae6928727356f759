#include "core/gate_name.h"

#include <gtest/gtest.h>

#include "core/policy.h"

namespace drover {
namespace {

TEST(GateName, IsMadeAndTakenApart) {
  for (std::size_t i = 0; i < kGateKinds.size(); ++i) {
    const auto kind = static_cast<GateKind>(i);
    const std::string subject = kind == GateKind::kSession ? "ann::eng" : "eng";
    const std::string name = kind == GateKind::kAll ? std::string(kAllGate) : gate_name(kind, subject);
    const auto parsed = parse_gate_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->kind, kind);
    EXPECT_EQ(parsed->subject, kind == GateKind::kAll ? "" : subject);
    EXPECT_TRUE(check_gate_name(name)) << name;
    for (std::size_t other = 0; other < kGateKinds.size(); ++other) {
      EXPECT_EQ(subject_of(name, static_cast<GateKind>(other)).has_value(), other == i) << name;
    }
  }
  EXPECT_EQ(gate_name(GateKind::kQueue, "eng"), "queue:eng");
  EXPECT_EQ(gate_name(GateKind::kOwner, "*"), kOtherOwnersGate);
}

TEST(GateName, OfNoKindIsRefused) {
  for (const std::string_view name : {"", "every", "queue", "all:", "all:x", "que:eng", "queue", ":eng", "Queue:eng"}) {
    EXPECT_FALSE(parse_gate_name(name)) << name;
    EXPECT_FALSE(check_gate_name(name)) << name;
  }
  // The kind is known, but the rest is not a name.
  for (const std::string_view name : {"queue:", "queue:a b", "owner:*", "session:eng", "session:ann:eng"}) {
    EXPECT_TRUE(parse_gate_name(name)) << name;
    EXPECT_FALSE(check_gate_name(name)) << name;
  }
  EXPECT_EQ(check_gate_name("que:eng").error().message,
            "\"que:eng\" is not a gate; a gate is all, queue:NAME, type:NAME, owner:NAME, lock:NAME, provider:NAME, "
            "session:OWNER::NAME, tag:NAME or tree:NAME");
}

TEST(GateName, KnowsWhatHoldsForAKind) {
  EXPECT_EQ(info_of(GateKind::kLock).permits, 1);
  EXPECT_EQ(info_of(GateKind::kType).closer, HoldSource::kBreaker);
  EXPECT_EQ(info_of(GateKind::kProvider).closer, HoldSource::kProvider);
  EXPECT_EQ(info_of(GateKind::kOwner).section, "owners");
}

}  // namespace
}  // namespace drover
