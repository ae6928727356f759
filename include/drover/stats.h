// How a queue is doing: numbers, rates and what somebody should look at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/question.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

// How often something happened in the window.
struct Rates {
  std::int64_t enqueued = 0;
  std::int64_t started = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t retried = 0;  // runs that failed and are tried again

  bool operator==(const Rates&) const = default;
};

// Of what happened in the window; samples are bounded. Nothing where there is no sample.
struct Durations {
  std::optional<Millis> p50;
  std::optional<Millis> p95;

  bool operator==(const Durations&) const = default;
};

struct QueueStats {
  std::string name;
  std::array<std::int64_t, kTaskStateCount> tasks{};  // by state
  std::optional<Time> waiting_since;                  // since when the first in line has been ready
  int workers = 0;                                    // that serve it, are not silent and do not drain
  int free_slots = 0;                                 // of those
  Rates rates;
  Durations waits;
  Durations runs;
};

struct WorkerTotals {
  int working = 0;
  int draining = 0;
  int silent = 0;
  int slots = 0;  // of those that work
  int running = 0;
  std::int64_t workspace_bytes = 0;  // of every host the largest figure that one of its workers reports
};

struct PermitTotals {
  std::int64_t in_use = 0;
  std::int64_t permits = 0;  // of all gates that have a limit
  int gates = 0;
};

// What tasks and gates have asked.
struct QuestionTotals {
  std::array<std::int64_t, kQuestionStateCount> kept{};  // by state
  std::int64_t tasks_waiting = 0;                        // that have given way until somebody answers
  std::optional<Time> oldest_open_at{};                  // when the oldest that is open was asked

  [[nodiscard]] std::int64_t in(QuestionState state) const { return kept[static_cast<std::size_t>(state)]; }
};

enum class AlertKind : std::uint8_t {
  kBreakerOpen,       // of a type
  kBreakerStuck,      // no probe has decided for far longer than the breaker waits
  kDeadLetter,        // a queue has some
  kFailure,           // a task failed with a class that alerts, as oom does
  kWorkerLost,        // silent
  kNotServed,         // tasks wait in a queue that no worker serves
  kHeld,              // a gate that lets nothing start has held tasks back for long
  kIdleWorkers,       // tasks wait, no gate holds them back, and workers that serve them have free slots
  kWaiting,           // far more wait than usual
  kLag,               // many wait
  kRunningPerWorker,  // a worker runs very many
  kNoProgress,        // a task has run for long and says nothing
};
inline constexpr int kAlertKindCount = 12;
[[nodiscard]] std::string_view name_of(AlertKind kind);
[[nodiscard]] std::optional<AlertKind> parse_alert_kind(std::string_view name);

enum class Severity : std::uint8_t { kWarning, kCritical };
[[nodiscard]] std::string_view name_of(Severity severity);
[[nodiscard]] std::optional<Severity> parse_severity(std::string_view name);

// Something that somebody should look at. Kind and subject say which.
struct Alert {
  AlertKind kind = AlertKind::kWaiting;
  Severity severity = Severity::kWarning;
  std::string subject;  // queue:Q, type:T, worker:ID, task:ID, or another gate
  std::string detail;   // what was found
  std::string fix;      // what to type
  Time raised_at{};
  // Somebody has seen it, and left it alone until then.
  std::optional<Time> snoozed_until{};
  std::string snoozed_by{};
  std::string snoozed_why{};

  bool operator==(const Alert&) const = default;
};

// Which alert it is: "held:queue:eng".
[[nodiscard]] std::string key_of(const Alert& alert);

struct PastAlert {
  Alert alert;
  Time cleared_at{};

  bool operator==(const PastAlert&) const = default;
};
inline constexpr std::size_t kPastAlertsMax = 500;

enum class HistoryStep : std::uint8_t { kMinute, kHour };
// Minutes of a day, hours of 30 days.
inline constexpr int kHistoryMinutes = 1'440;
inline constexpr int kHistoryHours = 720;

// What happened in one minute, or one hour.
struct StatsBucket {
  Time at{};  // when it began
  std::int64_t enqueued = 0;
  std::int64_t started = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;   // for good
  std::int64_t retried = 0;  // runs that failed and are tried again
  std::int64_t deferred = 0;
  std::int64_t cancelled = 0;
  Durations waits;                             // from ready to started; right to 20 %
  Durations runs;                              // from started to completed or failed
  std::optional<std::int64_t> cost_micro_usd;  // of runs that ended; absent: none of them reported any
  std::optional<std::int64_t> tokens;

  bool operator==(const StatsBucket&) const = default;
};

struct StatsHistory {
  HistoryStep step = HistoryStep::kMinute;
  Time from{};
  Time until{};                        // when the last bucket ends
  std::vector<StatsBucket> buckets{};  // those in which something happened, oldest first

  bool operator==(const StatsHistory&) const = default;
};

struct Stats {
  Time at{};
  std::array<std::int64_t, kTaskStateCount> tasks{};
  Millis window{};  // of rates and durations: a minute, or less if more happened than is looked at
  Rates rates;
  Durations waits;  // from ready to started
  Durations runs;
  std::vector<QueueStats> queues;  // by name
  WorkerTotals workers;
  PermitTotals permits;
  QuestionTotals questions;
  std::vector<Alert> alerts;
};

}  // namespace drover
