#include "worker/handler_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "worker/parent_results.h"

namespace drover {
namespace {

constexpr MonoTime kNever{Millis::max()};

MonoTime after(MonoTime since, Millis limit) {
  return limit > Millis{0} ? since + limit : kNever;
}

// What a stop does to the end: a result that was reached all the same is kept, except after a cancel.
decltype(Settlement::end) stopped_end(StopCause cause, HandlerResult result, const Task& task) {
  if (cause == StopCause::kCancelled) return CancelConfirmed{};
  if (result) return Completion{.result = *std::move(result)};
  switch (cause) {
    case StopCause::kCancelled:
      return CancelConfirmed{};
    case StopCause::kTimeout:
    case StopCause::kIdleTimeout: {
      Failure failure = std::move(result.error());
      failure.error_class = ErrorClass::kTimeout;
      return failure;
    }
    case StopCause::kBudget: {
      Failure failure = std::move(result.error());
      failure.error_class = ErrorClass::kBudgetExceeded;
      return failure;
    }
    case StopCause::kLeaseLost:
    case StopCause::kShutdown:
    case StopCause::kAsks:
      if (!task.at_most_once) return Release{};
      return Failure{.error_class = ErrorClass::kLost, .message = "it was stopped, and it may run at most once"};
  }
  return Release{};
}

}  // namespace

HandlerRun::HandlerRun(TaskQueue& queue, ClaimedTask claimed, MonoTime expires_at, Millis lease)
    : queue_(queue), claimed_(std::move(claimed)), lease_(lease), expires_at_(expires_at) {
  will_.gives_way = !claimed_.task.at_most_once;
}

Status HandlerRun::progress(int percent, std::string_view message) {
  note_activity();
  return queue_.progress(lease(), {percent, std::string(message)});
}

Status HandlerRun::log(std::string_view text) {
  note_activity();
  const LogChunk chunk{LogStream::kOut, std::string(text)};
  return queue_.append_log(lease(), std::span(&chunk, 1));
}

Status HandlerRun::checkpoint(const JsonText& value) {
  note_activity();
  return queue_.checkpoint(lease(), value);
}

Result<std::vector<Enqueued>> HandlerRun::spawn(std::span<const TaskSpec> children) {
  note_activity();
  return queue_.spawn(lease(), children);
}

Result<std::vector<ParentResult>> HandlerRun::parents() {
  note_activity();
  return read_parents(queue_, task());
}

Status HandlerRun::wait_children() {
  return wait_for({});
}

Status HandlerRun::wait_children(std::span<const TaskId> children) {
  return wait_for({.children = std::vector<TaskId>(children.begin(), children.end())});
}

Status HandlerRun::wait_for(Suspend suspend) {
  note_activity();
  if (task().at_most_once) {
    return fail(ErrorCode::kInvalidArgument, "this task may run at most once, so it cannot suspend and run again");
  }
  const std::scoped_lock lock(mutex_);
  will_.wait = std::move(suspend);
  return {};
}

Result<std::optional<JsonText>> HandlerRun::ask(const QuestionSpec& spec) {
  constexpr Millis kLookEvery{500};
  note_activity();
  auto question = queue_.ask(lease(), spec);
  if (question) log_question(*question);
  // One that may not run again cannot give way.
  while (question && question->state == QuestionState::kOpen && task().at_most_once && !wait_cancelled(kLookEvery)) {
    note_activity();
    question = queue_.question(question->id);
  }
  if (!question) return std::unexpected(question.error());
  log_question(*question);
  const std::scoped_lock lock(mutex_);
  switch (question->state) {
    case QuestionState::kOpen:
      will_.hear(*question);
      return std::nullopt;
    case QuestionState::kAnswered:
      will_.hear(*question);
      return question->answer;
    case QuestionState::kExpired:
    case QuestionState::kWithdrawn:
      break;
  }
  return fail(ErrorCode::kWrongState,
              fmt::format("question {} was {} without an answer", question->id.to_string(), name_of(question->state)));
}

// In its transcript; the answer counts without it.
void HandlerRun::log_question(const Question& question) {
  const LogChunk chunk{LogStream::kTranscript, question_lines_.hear(question)};
  if (chunk.text.empty()) return;
  if (const Status logged = queue_.append_log(lease(), std::span(&chunk, 1)); !logged) {
    log_debug("worker", "log not stored", {{"task", lease().task.to_string()}, {"error", to_string(logged.error())}});
  }
}

bool HandlerRun::cancelled() const {
  const std::scoped_lock lock(mutex_);
  return cause(system_clock().mono()).has_value();
}

bool HandlerRun::wait_cancelled(Millis timeout) const {
  const MonoTime give_up_at = system_clock().mono() + timeout;
  std::unique_lock lock(mutex_);
  for (;;) {
    const MonoTime now = system_clock().mono();
    if (cause(now)) return true;
    const Millis left = std::min(give_up_at, next_reason_at()) - now;
    if (left <= Millis{0}) return false;
    changed_.wait_for(lock, left);
  }
}

bool HandlerRun::begin(MonoTime now) {
  const std::scoped_lock lock(mutex_);
  started_at_ = active_at_ = now;
  return now < fence_at();
}

void HandlerRun::lease_renewed(MonoTime expires_at) {
  const std::scoped_lock lock(mutex_);
  expires_at_ = expires_at;
  changed_.notify_all();
}

void HandlerRun::ask_to_stop(StopCause cause) {
  const std::scoped_lock lock(mutex_);
  if (!cause_) cause_ = cause;
  changed_.notify_all();
}

RunEnded HandlerRun::end(HandlerResult result) const {
  const std::scoped_lock lock(mutex_);
  const std::optional<StopCause> why = cause(system_clock().mono());
  if (why) return {lease(), with_will(stopped_end(*why, std::move(result), task()), will_)};
  if (result) return {lease(), with_will(Completion{.result = *std::move(result)}, will_)};
  return {lease(), std::move(result.error())};
}

void HandlerRun::note_activity() {
  const std::scoped_lock lock(mutex_);
  active_at_ = system_clock().mono();
}

std::optional<StopCause> HandlerRun::cause(MonoTime now) const {
  if (cause_) return cause_;
  if (now >= fence_at())
    cause_ = StopCause::kLeaseLost;
  else if (now >= after(started_at_, task().timeout))
    cause_ = StopCause::kTimeout;
  else if (now >= after(active_at_, task().idle_timeout))
    cause_ = StopCause::kIdleTimeout;
  return cause_;
}

MonoTime HandlerRun::next_reason_at() const {
  return std::min({fence_at(), after(started_at_, task().timeout), after(active_at_, task().idle_timeout)});
}

}  // namespace drover
