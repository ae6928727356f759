// Worker: runs tasks with handlers in this process. For programs as agents, see `drover work`.
//
//   drover::Worker worker(queue, {.concurrency = 8});
//   worker.handle("resize", [](drover::TaskContext& context) -> drover::HandlerResult {
//     for (int done = 0; done < 100; ++done) {
//       if (context.cancelled()) return std::unexpected(drover::Failure{.message = "stopped"});
//       ...
//     }
//     return R"({"width": 100})";
//   });
//   auto report = worker.run();  // until worker.stop()
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

// A task that the running one depends on, as it is now. Of one that retention took only the id is left.
struct ParentResult {
  TaskId id;
  std::optional<std::string> ref{};
  std::string type{};
  std::optional<TaskState> state{};  // unset: retention took it
  std::optional<JsonText> result{};
  std::optional<TaskError> error{};

  bool operator==(const ParentResult&) const = default;
};

// What a handler may know and do while it runs one task. Safe to use from several threads; ends with the handler's
// return.
class TaskContext {
 public:
  virtual ~TaskContext() = default;

  [[nodiscard]] virtual const Task& task() const = 0;
  [[nodiscard]] virtual const std::vector<RunSummary>& earlier_runs() const = 0;

  // kStaleLease: the task is not this run's any more, and neither its result nor anything else of it will be taken.
  [[nodiscard]] virtual Status progress(int percent, std::string_view message) = 0;
  [[nodiscard]] virtual Status log(std::string_view text) = 0;
  [[nodiscard]] virtual Status checkpoint(const JsonText& value) = 0;
  [[nodiscard]] virtual Result<std::vector<Enqueued>> spawn(std::span<const TaskSpec> children) = 0;

  // What the tasks that this one depends on produced, in the order of depends_on; awaited children are among them.
  [[nodiscard]] virtual Result<std::vector<ParentResult>> parents() = 0;
  // If the handler returns a result, the task suspends until these children are done, and then runs again; the result
  // is dropped. Without ids: all children of this generation. Said again, the last word counts.
  [[nodiscard]] virtual Status wait_children() = 0;
  [[nodiscard]] virtual Status wait_children(std::span<const TaskId> children) = 0;

  // Asks a person, or the task that spawned this one. The answer, if there is one by now. Nothing: return, with any
  // result; the task then suspends until the answer, and its next run gets it by asking the same again. A task that may
  // run at most once waits here instead. kWrongState: the question has expired without a default, or was withdrawn.
  [[nodiscard]] virtual Result<std::optional<JsonText>> ask(const QuestionSpec& question) = 0;

  // Whether to stop: a cancel, a timeout, a lost lease, or the worker's shutdown. A thread cannot be killed, so a
  // handler that runs for long must ask; one that does not keeps its worker from stopping.
  [[nodiscard]] virtual bool cancelled() const = 0;
  // Waits until there is a reason to stop, at most that long. Returns cancelled().
  [[nodiscard]] virtual bool wait_cancelled(Millis timeout) const = 0;
};

// The task's result as JSON text, or why there is none. An exception is an agent_error.
using HandlerResult = std::expected<JsonText, Failure>;
using Handler = std::function<HandlerResult(TaskContext&)>;

enum class RunUntil : std::uint8_t { kStopped, kEmpty };

struct WorkerOptions {
  int concurrency = 1;
  // How many tasks may wait in this worker beside those that run, so that short handlers find the next one there. They
  // are claimed: no other worker gets them, and they are given back when this one stops. For handlers of milliseconds.
  // With `concurrency` at most 1,000.
  int prefetch = 0;
  Millis lease{30'000};
  Millis heartbeat{5'000};
  Millis drain{30'000};  // how long handlers may go on after stop()
  RunUntil until = RunUntil::kStopped;
  std::string version{};
};

struct WorkerReport {
  std::string worker_id;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t released = 0;
  std::int64_t cancelled = 0;
  std::int64_t suspended = 0;
};

class Worker {
 public:
  // The queue outlives the worker.
  Worker(TaskQueue& queue, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Before run. Serves tasks of this type, in the queue of its name or in the one given.
  void handle(std::string type, Handler handler);
  void handle(std::string type, std::string queue, Handler handler);

  // Works until stop(), until the store tells it to drain (TaskQueue::drain_worker) or, with RunUntil::kEmpty, until
  // its queues are empty. Once.
  [[nodiscard]] Result<WorkerReport> run();

  // From any thread; also from a signal handler. Claims no more and lets handlers finish for the drain time; called
  // again, asks them to stop now.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover
