// One call of a handler, and the context that it sees.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "drover/worker.h"
#include "worker/door.h"
#include "worker/fence.h"
#include "worker/question_lines.h"
#include "worker/runners/exec.h"
#include "worker/runs.h"

namespace drover {

// Reasons to stop come from outside (ask_to_stop) or from the clock (timeouts, a lease that was not renewed), which is
// looked at whenever the handler asks: no thread of its own is needed to fence a handler.
class HandlerRun final : public TaskContext {
 public:
  HandlerRun(TaskQueue& queue, ClaimedTask claimed, MonoTime expires_at, Millis lease);

  [[nodiscard]] const Task& task() const override { return claimed_.task; }
  [[nodiscard]] const std::vector<RunSummary>& earlier_runs() const override { return claimed_.earlier_runs; }
  [[nodiscard]] Status progress(int percent, std::string_view message) override;
  [[nodiscard]] Status log(std::string_view text) override;
  [[nodiscard]] Status checkpoint(const JsonText& value) override;
  [[nodiscard]] Result<std::vector<Enqueued>> spawn(std::span<const TaskSpec> children) override;
  [[nodiscard]] Result<std::vector<ParentResult>> parents() override;
  [[nodiscard]] Status wait_children() override;
  [[nodiscard]] Status wait_children(std::span<const TaskId> children) override;
  [[nodiscard]] Result<std::optional<JsonText>> ask(const QuestionSpec& spec) override;
  [[nodiscard]] bool cancelled() const override;
  [[nodiscard]] bool wait_cancelled(Millis timeout) const override;

  // False: so little of its lease is left that it must not begin.
  [[nodiscard]] bool begin(MonoTime now);
  void lease_renewed(MonoTime expires_at);
  void ask_to_stop(StopCause cause);

  [[nodiscard]] const Lease& lease() const { return claimed_.lease; }
  // How the run ended, from what the handler returned and why it may have been asked to stop.
  [[nodiscard]] RunEnded end(HandlerResult result) const;

 private:
  void log_question(const Question& question);
  void note_activity();
  [[nodiscard]] Status wait_for(Suspend suspend);
  // With the lock held. The reason, once there is one, stays.
  [[nodiscard]] std::optional<StopCause> cause(MonoTime now) const;
  [[nodiscard]] MonoTime next_reason_at() const;
  [[nodiscard]] MonoTime fence_at() const { return drover::fence_at(expires_at_, lease_); }

  TaskQueue& queue_;
  const ClaimedTask claimed_;
  const Millis lease_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::optional<StopCause> cause_;
  LastWill will_;
  QuestionLines question_lines_;  // of the handler's thread
  MonoTime expires_at_;
  MonoTime started_at_{};
  MonoTime active_at_{};
};

}  // namespace drover
