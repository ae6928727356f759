#include "worker/handler_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "net/wake.h"
#include "worker/handler_run.h"

namespace drover {
namespace {

StopCause cause_of(StopReason reason) {
  switch (reason) {
    case StopReason::kCancelled:
      return StopCause::kCancelled;
    case StopReason::kLeaseLost:
      return StopCause::kLeaseLost;
    case StopReason::kShutdown:
      return StopCause::kShutdown;
  }
  return StopCause::kShutdown;
}

// A handler is a stranger's code: whatever it throws ends its own run only.
HandlerResult call_safely(const Handler& handler, TaskContext& context) {
  try {
    return handler(context);
  } catch (const std::exception& error) {
    return std::unexpected(Failure{.error_class = ErrorClass::kAgentError, .message = error.what()});
  } catch (...) {
    return std::unexpected(Failure{.error_class = ErrorClass::kAgentError, .message = "the handler threw something"});
  }
}

}  // namespace

HandlerRuns::HandlerRuns(TaskQueue& queue, Handlers handlers, int threads, Millis lease, std::function<void()> on_ended)
    : queue_(queue), handlers_(std::move(handlers)), lease_(lease), on_ended_(std::move(on_ended)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

HandlerRuns::~HandlerRuns() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const auto& run : runs_) run->ask_to_stop(StopCause::kShutdown);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HandlerRuns::start(ClaimedTask claimed, MonoTime expires_at) {
  auto run = std::make_shared<HandlerRun>(queue_, std::move(claimed), expires_at, lease_);
  const std::scoped_lock lock(mutex_);
  runs_.push_back(run);
  waiting_.push_back(std::move(run));
  wake_one();
}

void HandlerRuns::lease_renewed(const Lease& lease, MonoTime expires_at) {
  if (const auto run = find(lease)) run->lease_renewed(expires_at);
}

void HandlerRuns::stop(const Lease& lease, StopReason reason) {
  if (end_waiting(lease, reason)) return;
  if (const auto run = find(lease)) run->ask_to_stop(cause_of(reason));
}

bool HandlerRuns::end_waiting(const Lease& lease, StopReason reason) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(waiting_, lease, [](const auto& run) -> const Lease& { return run->lease(); });
  if (found == waiting_.end()) return false;
  const std::shared_ptr<HandlerRun> run = std::move(*found);
  waiting_.erase(found);
  if (reason == StopReason::kCancelled) {
    add_ended(run, {lease, CancelConfirmed{}});
  } else {
    add_ended(run, {lease, Release{Begun::kNo}});
  }
  return true;
}

void HandlerRuns::give_back_waiting() {
  const std::scoped_lock lock(mutex_);
  for (const auto& run : std::exchange(waiting_, {})) add_ended(run, {run->lease(), Release{Begun::kNo}});
}

void HandlerRuns::add_ended(const std::shared_ptr<HandlerRun>& run, RunEnded ended) {
  std::erase(runs_, run);
  ended_.push_back(std::move(ended));
  if (ended_.size() == 1) on_ended_();  // whoever takes it takes all
}

std::vector<RunEnded> HandlerRuns::take_ended() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(ended_, {});
}

void HandlerRuns::work() {
  block_signals_in_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!stopping_ && waiting_.empty()) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
      waking_ = false;
    }
    if (stopping_) return;
    const std::shared_ptr<HandlerRun> run = std::move(waiting_.front());
    waiting_.pop_front();
    if (!waiting_.empty()) wake_one();
    lock.unlock();
    RunEnded ended = call(*run);
    lock.lock();
    add_ended(run, std::move(ended));
  }
}

// One after the other, each by the one before it: where handlers are short, few threads do the work of many.
void HandlerRuns::wake_one() {
  if (idle_ == 0 || waking_) return;
  waking_ = true;
  wake_.notify_one();
}

std::shared_ptr<HandlerRun> HandlerRuns::find(const Lease& lease) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(runs_, lease, [](const auto& run) -> const Lease& { return run->lease(); });
  return found == runs_.end() ? nullptr : *found;
}

RunEnded HandlerRuns::call(HandlerRun& run) const {
  if (!run.begin(system_clock().mono())) return {run.lease(), Release{Begun::kNo}};
  const auto handler = handlers_.find(run.task().type);
  if (handler == handlers_.end()) {
    return run.end(
        std::unexpected(Failure{.error_class = ErrorClass::kSpawnFailed,
                                .message = fmt::format("this worker has no handler for {}", run.task().type)}));
  }
  return run.end(call_safely(handler->second, run));
}

}  // namespace drover
