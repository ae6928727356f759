// Gates as operators see them: who holds what back, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/budget.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

enum class HoldSource : std::uint8_t {
  kPolicy,    // a limit of the policy document
  kOperator,  // by hand: pause, gate close, gate limit
  kBreaker,
  kProvider,  // a provider said so: rate limit, quota
};
inline constexpr int kHoldSourceCount = 4;

[[nodiscard]] std::string_view name_of(HoldSource source);
[[nodiscard]] std::optional<HoldSource> parse_hold_source(std::string_view name);

// Closed until opened by hand.
inline constexpr Time kUntilOpened = Time::max();

struct Hold {
  HoldSource source = HoldSource::kOperator;
  std::optional<Time> closed_until;  // kUntilOpened: until the hold goes
  std::optional<int> permits;        // how many may run at once
  std::string why;
  std::string by;  // who: user@host, or the part of Drover
  Time since{};

  bool operator==(const Hold&) const = default;
};

// So many units in that time, at most `burst` at once. A task takes its cost.
struct Rate {
  std::int64_t units = 1;
  Millis per{1000};
  std::int64_t burst = 1;

  bool operator==(const Rate&) const = default;
};

// "60/min", "5/s", "1000/h", "100/10s"; over at most 31 days. The burst is given apart; 1 unless set.
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);
[[nodiscard]] std::string to_string(const Rate& rate);
// The numbers stay within what a store can count: an empty burst is full again within kDurationMax.
[[nodiscard]] Status check_rate(const Rate& rate);

// One of `all`, `queue:Q`, `type:T`, `owner:O`, `lock:K`, `provider:P`, `session:O::S`, `tag:T`.
[[nodiscard]] Status check_gate_name(std::string_view name);

struct GateStatus {
  std::string name;
  std::vector<Hold> holds;
  std::optional<Rate> rate;
  std::optional<Time> closed_until;  // what counts of all holds
  std::optional<int> permits;
  std::optional<std::int64_t> in_use;  // counted only while permits are limited
  std::int64_t waiting_lanes = 0;      // parked here
  std::int64_t waiting_tasks = 0;      // that it refuses now
  std::int64_t would_start = 0;        // of these, the ones that no other gate refuses
  std::vector<BudgetStatus> budgets{};
};

// Nothing starts through it until somebody or something opens it: it is closed, has no permits, or its breaker waits
// for a probe. One that is only full, or whose rate is spent, lets work through.
[[nodiscard]] bool is_shut(const GateStatus& gate);

// Waiting tasks that a gate holds back.
struct HeldTasks {
  std::string gate{};  // the first shut gate of theirs, or else the first that refuses them now
  std::int64_t tasks = 0;
  Time since{};  // since when the first of them has waited, or the gate has been shut, whichever is later
  bool shut = false;
  std::string why{};  // "closed by ann@box (deploy)"

  bool operator==(const HeldTasks&) const = default;
};

// How it stands with a provider, for those who run behind its gate.
struct ProviderState {
  enum class State : std::uint8_t {
    kOpen,     // it does not push back
    kClosed,   // nothing starts until resumes_at
    kRamping,  // it opened again, with so many permits
  };
  std::string name{};
  State state = State::kOpen;
  std::optional<Time> resumes_at{};  // of a closed one; absent: nobody knows
  std::optional<int> permits{};      // how many may run at once; absent: any number

  bool operator==(const ProviderState&) const = default;
};
[[nodiscard]] std::string_view name_of(ProviderState::State state);  // "open", "closed", "ramping"
[[nodiscard]] std::optional<ProviderState::State> parse_provider_state(std::string_view name);

struct QueueStatus {
  std::string name;
  std::int64_t waiting = 0;  // pending and stalled
  std::int64_t scheduled = 0;
  std::int64_t blocked = 0;
  std::int64_t running = 0;
  std::optional<GateStatus> gate;    // `queue:NAME`, when it has a hold or a rate
  std::vector<HeldTasks> held = {};  // by the name of the gate
};

// Why a task is not running, and what will release it.
struct Explanation {
  enum class Reason : std::uint8_t {
    kRunning,
    kEnded,
    kBlocked,         // waits for parents; for answers, too, if its text says so
    kQuestion,        // waits for an answer, and for nothing else
    kScheduled,       // waits for run_at
    kGate,            // a gate refuses it
    kInLine,          // would be taken: others stand before it
    kNoWorker,        // would be taken, but no live worker serves it
    kStoreRegressed,  // nothing is claimed until somebody accepts that the store went backwards
  };
  Reason reason = Reason::kInLine;
  std::string text;                   // one sentence for people
  std::optional<std::string> gate;    // kGate: the first that refuses
  std::vector<GateStatus> refusing;   // kGate: all that refuse now
  std::optional<Time> at;             // when it will be released, if a time is known
  std::vector<TaskId> waits_for;      // kBlocked: parents that are not done; at most 100
  std::optional<std::int64_t> ahead;  // kInLine: tasks before it in its own lane, counted up to a bound
  // kBlocked: from a parent that is not done, by parents of parents, to the task that holds all of them. At most 100;
  // one that is cut off ends with a blocked task.
  struct Link {
    TaskId id;
    std::string owner{};
    TaskState state = TaskState::kBlocked;
    Reason reason = Reason::kBlocked;
    std::string text{};
    std::optional<std::string> gate{};
    std::optional<Time> at{};
  };
  std::vector<Link> chain{};
};
[[nodiscard]] std::string_view name_of(Explanation::Reason reason);

// Tasks that wait for a worker, or for answers, and have one cause in common.
struct StuckGroup {
  Explanation::Reason reason = Explanation::Reason::kInLine;  // kGate, kInLine, kNoWorker, kQuestion or kStoreRegressed
  std::optional<std::string> gate{};                          // kGate: the first that refuses them
  std::optional<std::string> queue{};                         // kInLine, kNoWorker: where they stand
  std::int64_t tasks = 0;
  Time since{};  // when the one that waits longest was ready, or asked
  TaskId example;
  std::string text;          // what holds them back, and what will release them; one sentence for people
  std::optional<Time> at{};  // when that will be, if a time is known

  bool operator==(const StuckGroup&) const = default;
};

// Why everything that waits does so.
struct StuckReport {
  std::vector<StuckGroup> groups{};  // those with the most tasks first
  std::int64_t unexamined = 0;       // tasks that wait in so many lanes that these were not looked at
  std::int64_t scheduled = 0;        // these wait for their time
  std::int64_t blocked = 0;          // and these for their parents alone

  bool operator==(const StuckReport&) const = default;
};

}  // namespace drover
