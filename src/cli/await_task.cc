#include "cli/await_task.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/try.h"
#include "core/gate_json.h"

namespace drover::cli {
namespace {

constexpr Millis kSayEvery{1'000};

}  // namespace

void define_wait_limits(Verb& verb, const std::string& timeout, WaitLimits* limits) {
  verb.value(timeout, "D", &limits->timeout, parse_duration, "stop waiting after this; exit 124");
  verb.flag("-q,--quiet", &limits->quiet, true, "do not say what it is waiting for");
}

WaitingReport::WaitingReport(TaskQueue& queue, const TaskId& id, Context& context, const Clock& clock)
    : queue_(queue), id_(id), context_(context), clock_(clock), next_(clock.mono() + kSayEvery) {}

void WaitingReport::tick() {
  if (clock_.mono() < next_) return;
  say_why();
  next_ = clock_.mono() + kSayEvery;
}

void WaitingReport::say_why() {
  const auto why = queue_.explain(id_);
  if (!why) return say_if_new("unknown", fmt::format("it is not known why: {}", why.error().message));
  if (why->reason == Explanation::Reason::kEnded) return;
  say_if_new(fmt::format("{} {}", name_of(why->reason), why->gate.value_or("")), why->text);
}

void WaitingReport::say_if_new(std::string reason, std::string_view text) {
  if (reason == said_) return;
  said_ = std::move(reason);
  context_.say(fmt::format("waiting for task {}: {}", id_.to_string(), text));
}

Result<WatchEnd> await_task(TaskQueue& queue, const TaskId& id, const WaitLimits& limits, Context& context,
                            Task& task) {
  WaitingReport report(queue, id, context, system_clock());
  const auto look = [&]() -> Result<Seen> {
    task = TRY(queue.get(id));
    return is_terminal(task.state) ? Seen::kDone : Seen::kNotYet;
  };
  const auto end = watch(queue, limits.timeout, look, [&] {
    if (!limits.quiet) report.tick();
    return false;
  });
  if (end && *end == WatchEnd::kTimedOut && !limits.quiet) report.say_why();
  return end;
}

int exit_code_of_giving_up(WatchEnd end) {
  CHECK(end != WatchEnd::kDone);
  return end == WatchEnd::kTimedOut ? kExitTimedOut : kExitInterrupted;
}

int exit_code_of_fate(TaskState state) {
  CHECK(is_terminal(state));
  if (state == TaskState::kCompleted) return kExitOk;
  return state == TaskState::kFailed ? kExitTaskFailed : kExitTaskCancelled;
}

}  // namespace drover::cli
