// The keys that C++ names itself, behind the prefix of a store. All others are named by the library alone
// (lua/0_keys.lua).
#pragma once

#include <string_view>

namespace drover::redis {

inline constexpr std::string_view kSeqKey = "seq";
inline constexpr std::string_view kGateRecordsKey = "gate_records";
inline constexpr std::string_view kSessionsKey = "sessions";
inline constexpr std::string_view kTokensKey = "tokens:";  // and a pool
inline constexpr std::string_view kSweepTokensKey = "sweep_tokens";

}  // namespace drover::redis
