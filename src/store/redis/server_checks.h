// Whether a Redis is fit to keep tasks, and how much of them it keeps when it dies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "store/redis/connection.h"

namespace drover::redis {

struct Durability {
  // What survives, from least to most.
  enum class Level : std::uint8_t {
    kUnknown,     // the user may not ask (CONFIG)
    kNone,        // nothing
    kSnapshot,    // what was saved last, or what the kernel had written by itself
    kEverysec,    // all but about the last two seconds
    kAlways,      // everything acknowledged, on this node
    kReplicated,  // and writes are refused without a replica
  };
  Level level = Level::kUnknown;
  std::string text;                   // one sentence for people
  std::vector<std::string> warnings;  // settings that weaken it, and what to do
};
[[nodiscard]] std::string_view name_of(Durability::Level level);

struct ServerReport {
  std::string product;  // "Redis" or "Valkey"
  std::string version;  // of the product
  Durability durability;
};

// Refused with kInvalidConfig, the reason and the fix: a server before 7.0, or one that evicts keys. kStoreUnavailable:
// a replica. A user who may not read CONFIG gets a warning; one who may not read INFO is kUnauthorised.
[[nodiscard]] Result<ServerReport> check_server(Connection& connection, const Patience& patience);

}  // namespace drover::redis
