// How a task is run: a plan says which process comes first, which comes next, and what it all means for the task. Each
// step is one process under its own shim; the run's lease, door, log and timeouts are the same for all of them. A
// runner is one file in runners/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/task_queue.h"
#include "worker/process_end.h"
#include "worker/run_files.h"
#include "worker/runner_profile.h"

namespace drover {

struct RunStep {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::string folder{};                  // where it runs; empty: where the worker does
  std::string input{};                   // what it reads from stdin
  Millis timeout{0};                     // beside the run's own; zero: none
  bool interrupt_first = false;          // it takes an INT for a reason to end well; others get TERM at once
  bool is_of_profile = true;             // that it starts, or cannot, tells whether this worker can run the type
};

// What a piece of output is to the run.
struct Heard {
  std::optional<std::string> doing{};  // what it is at, in a few words; unset: as before
  std::vector<LogChunk> log{};         // what is stored of it; all of it is in the run's own file anyway
  bool is_news = false;                // report() has changed
  bool is_sign_of_life = false;        // the idle timeout starts anew
};

// The worker's machine or configuration is at fault before anything of the task has begun: the task goes back, and the
// worker takes no more of its type for a while.
struct CannotRun {
  std::string why;
};

// The task names something that this worker does not have: it goes back, for another worker, behind the others of its
// type.
struct NotHere {
  std::string why;
};

using Next = std::variant<RunStep, End, CannotRun, NotHere>;

// All functions are called on the thread of the runs' event loop: none of them waits for anything.
class RunPlan {
 public:
  virtual ~RunPlan() = default;

  // An error is for the worker to solve: the task goes back, as if it had never started.
  [[nodiscard]] virtual Result<Next> begin() = 0;
  // What the running step prints.
  [[nodiscard]] virtual Heard take(LogStream stream, std::string_view bytes) = 0;
  // Whether the running step has said its last word: it gets a little time to go, then it is ended.
  [[nodiscard]] virtual bool has_settled() const { return false; }
  // Nothing was heard of the running step for the idle timeout: what can be learnt elsewhere. It is over if it has
  // settled by that.
  [[nodiscard]] virtual Heard look_elsewhere() { return {}; }
  // The running step prints no more.
  [[nodiscard]] virtual Heard finish() { return {}; }
  // What the run says of itself so far: kept with the task while it runs, and with its end.
  [[nodiscard]] virtual RunReport report() const { return {}; }
  // Asked once, when a step and all that it started are gone. A step that was stopped ends the run.
  [[nodiscard]] virtual Next after(const ProcessEnd& end) = 0;
};

// The workspace that a plan works in.
struct WorkspaceUse {
  std::string root{};
  bool has_repository = false;
  bool is_new = false;  // no run has worked in it
};

// What a plan is made of; all of it outlives the plan.
struct RunSetting {
  const ClaimedTask& claimed;
  const RunnerProfile& profile;
  const RunFiles& files;
  const std::vector<std::string>& worker_environment;
  const std::string& worker_id;
  const std::string& host;  // where sessions of agents are kept
  std::size_t result_bytes_max = 0;
  std::string folder{};  // where it works
  std::optional<WorkspaceUse> workspace{};
  const Repos& repos;
  const std::string& shim_program;
  const std::string& state_dir;
  std::string store_id{};  // whose tasks these are
};

}  // namespace drover
