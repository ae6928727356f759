// The history checker: whether what happened keeps the promises.
//
// It knows the rules from the documentation and shares no code with the engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"

namespace drover::history {

enum class Broken : std::uint8_t {
  kLost,                // acknowledged, but absent or not ended
  kUnexpected,          // nobody asked for it, or it was refused
  kSettledTwice,        // two ends within one generation, or something after the end
  kLeaseOverlap,        // a second lease while the first one was out
  kRunOverlap,          // two executions of one task at once
  kRanTwice,            // two executions under one run number
  kStartedAfterCancel,  // a run began although a cancel was acknowledged
  kEventGap,            // the event log skips or invents a transition
  kWitnessDisagrees,    // the tasks saw something else than the store says
};
inline constexpr int kBrokenKinds = 9;

[[nodiscard]] std::string_view name_of(Broken kind);

struct Violation {
  Broken kind = Broken::kLost;
  TaskId task;
  std::string detail;
};

struct Expectations {
  // How long two executions of one task may overlap: zero unless workers were frozen together with their shims.
  Millis overlap_max{0};
};

struct Verdict {
  std::vector<Violation> violations;
  std::int64_t acknowledged = 0;  // enqueues
  std::int64_t unknown = 0;       // enqueues without an answer
  std::int64_t recovered = 0;     // of those: stored all the same
  std::int64_t runs = 0;          // leases given out
  std::int64_t leases_lost = 0;
  std::int64_t overlaps = 0;  // executions that overlapped, allowed or not
  Millis overlap_longest{0};
};

// Every violation, grouped by task; none if all promises were kept. Expects a history that is over: nothing runs any
// more and every task should have ended.
[[nodiscard]] Verdict check(const History& history, const Expectations& expectations = {});

// One line per violation, the first `limit` of them.
[[nodiscard]] std::string to_string(const std::vector<Violation>& violations, std::size_t limit = 20);

}  // namespace drover::history
