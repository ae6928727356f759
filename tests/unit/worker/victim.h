// A worker in a process of its own, for tests that kill or freeze it.
#pragma once

#include <string_view>

namespace drover::test {

inline constexpr std::string_view kVictimArgument = "victim";

// PROGRAM victim STATE_DIR LEASE_MS AGENT_ARGV... : runs one task with that command, renewing its lease.
[[nodiscard]] int victim_main(int argc, char** argv);

}  // namespace drover::test
