// What a simulation does: the fleet, the operations of its users and the faults, all drawn from one seed beforehand.
//
// A plan is data, so that a failing one can be made smaller by leaving things out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "drover/budget.h"
#include "drover/task_queue.h"

namespace drover::sim {

// A task that a user enqueues. Its payload is {"n":NUMBER}, by which everybody knows it again.
struct TaskPlan {
  int number = 0;
  TaskSpec spec;             // without parents, refs and ids
  std::vector<int> parents;  // numbers of earlier tasks; what was never stored is left out
  bool chooses_id = false;   // the user makes the id
  bool chooses_request_id = false;
};

struct Operation {
  enum class Kind : std::uint8_t {
    kEnqueue,
    kCancel,
    kRetry,
    kRequeueStalled,
    kEscalate,
    kDelete,
    kEdit,
    kBulk,
    kConverse,
    kRaise
  };

  Kind kind = Kind::kEnqueue;
  Millis at{0};
  int server = 0;               // which one is asked first
  std::vector<TaskPlan> tasks;  // kEnqueue
  bool replays = false;         // kEnqueue: asks once more although it got its answer
  int target = 0;               // kCancel, kRetry, kEscalate, kDelete, kEdit: a task's number
  Millis max_age{0};            // kRequeueStalled
  Millis wait{0};               // kRetry, kEdit: not before so long from now
  int priority = 5;             // kEdit
  std::string type;             // kBulk: of the tasks
  bool retries = false;         // kBulk: instead of cancelling
  bool stops = false;           // kBulk: at once
  bool appends = false;         // kConverse: an item; of the conversation; else it asks for a turn
  std::size_t budget = 0;       // kRaise: which of the plan's
  std::int64_t amount = 0;      // kRaise: by so much
};

struct Fault {
  enum class Kind : std::uint8_t {
    kKill,                // kill -9 between two steps
    kKillAtFailpoint,     // at the count-th failpoint that the victim passes
    kKillAtDiskOp,        // at its count-th disk operation
    kFreezeWorker,        // SIGSTOP of the process alone: its agents' shims go on
    kFreezeWithShims,     // and of its shims
    kFreezeAtFailpoint,   // inside a step, whatever it holds
    kPowerCut,            // between two steps
    kPowerCutAtDiskOp,    // at the count-th disk operation of anybody
    kStoreFails,          // calls fail before they have an effect
    kStoreForgetsAnswer,  // calls take effect and fail all the same
    kStoreSlow,           // calls take long
    kClockJump,
    kDiskFull,
    kDiskError,  // the count-th disk operation fails
    kSyncError,  // the count-th sync fails
    kSettleTwice,
    kDrain,  // SIGTERM of a worker
  };
  static constexpr int kKinds = 17;

  Kind kind = Kind::kKill;
  Millis at{0};
  int victim = 0;  // a process: servers first, then workers
  int count = 1;
  Millis lasts{0};  // the window, or how long the victim stays down
  Millis jump{0};
  int percent = 0;  // of the calls that are hit
};

[[nodiscard]] std::string_view name_of(Fault::Kind kind);

struct WorkerPlan {
  int capacity = 1;
  Millis lease{30'000};
  std::vector<Serve> serves;
};

// How agents behave, in percent of their runs.
struct AgentMix {
  int fail = 0;  // a class that is tried again
  int fail_for_good = 0;
  int crash = 0;
  int rate_limited = 0;
  int hang = 0;
  int ignore_term = 0;  // of all runs that are told to stop
  int talk = 0;         // progress, checkpoint, log
  int spawn = 0;
  Millis takes_max{10'000};
};

struct BudgetPlan {
  std::string gate;
  Budget budget;
};

struct Plan {
  std::uint64_t seed = 0;
  Millis lasts{600'000};
  int servers = 1;
  std::vector<WorkerPlan> workers;
  AgentMix agents;
  int interleave_percent = 0;  // of the store's calls, between which others get a turn
  JsonText config = "{}";
  std::string provider_type = {};        // the type whose tasks use a provider, if there is one
  std::optional<Millis> retention = {};  // if the configuration says so
  std::vector<BudgetPlan> budgets = {};
  std::map<std::string, BudgetAmounts> per_run = {};  // by type, if there are budgets
  Millis wall_at_start{0};                            // since midnight
  std::vector<Operation> operations;
  std::vector<Fault> faults;
};

[[nodiscard]] Plan make_plan(std::uint64_t seed);
// The same without the faults of disks and of steps inside SQLite: Redis has its own disk.
[[nodiscard]] Plan make_redis_plan(std::uint64_t seed);

// What an agent will do in one run: a function of the seed, the task's number and the run's.
struct Behaviour {
  enum class Kind : std::uint8_t { kSucceed, kFail, kCrash, kHang };

  Kind kind = Kind::kSucceed;
  Millis takes{0};
  ErrorClass error_class = ErrorClass::kAgentError;
  std::optional<Millis> retry_after;
  bool ignores_term = false;
  bool talks = false;
  int children = 0;
  bool waits = false;  // for its children, if it got any
};

[[nodiscard]] Behaviour behaviour_of(const Plan& plan, int number, int run);

// What an agent uses in one run under a plan with budgets: so much with each of its requests.
struct Spending {
  int requests = 1;
  BudgetAmounts each{};  // but wall time
  bool has_price = true;
  bool at_door = false;  // the program says so itself, and its worker knows nothing of it
};

[[nodiscard]] Spending spending_of(const Plan& plan, const std::string& type, int number, int run);
[[nodiscard]] Usage usage_after(const Spending& spending, int requests);

// Draws.
[[nodiscard]] inline bool chance(Rng& rng, int percent) {
  return rng.below(100) < static_cast<std::uint64_t>(percent);
}
[[nodiscard]] inline int between(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}
[[nodiscard]] inline Millis between(Rng& rng, Millis low, Millis high) {
  return low + Millis(static_cast<Millis::rep>(rng.below(static_cast<std::uint64_t>((high - low).count() + 1))));
}
template <class T>
[[nodiscard]] const T& pick(Rng& rng, const std::vector<T>& from) {
  return from[rng.below(from.size())];
}
// A seed of its own for each part of a simulation, so that one part's draws do not move another's.
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t part);

}  // namespace drover::sim
