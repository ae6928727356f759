#include "worker/claim_loop.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace drover {
namespace {

constexpr Millis kBackoffMin{100};
constexpr Millis kBackoffMax{5'000};
// Settled in one call; more waits for the next step.
constexpr std::size_t kSettleBatchMax = 256;
constexpr int kBadRequest = 400;  // the codes that blame what was sent

// The end that is sent instead of one that the queue will never take. Nothing left to say: the lease runs out.
std::optional<Failure> failure_instead(const RunEnded& ended, const Error& error) {
  const auto* completion = std::get_if<Completion>(&ended.end);
  if (completion == nullptr) return std::nullopt;
  const bool too_large = error.code == ErrorCode::kResultTooLarge;
  // A result that breaks its contract is the agent's mistake: the next run sees why among the earlier ones.
  const bool malformed = error.code == ErrorCode::kInvalidResult || error_info(error.code).http_status == kBadRequest;
  if (!too_large && !malformed) return std::nullopt;
  return Failure{.error_class = too_large ? ErrorClass::kResultTooLarge : ErrorClass::kAgentError,
                 .message = error.message,
                 .exit_code = completion->exit_code};
}

bool means_not_ours(ErrorCode code) {
  return code == ErrorCode::kStaleLease || code == ErrorCode::kNotFound || code == ErrorCode::kWrongState;
}

}  // namespace

ClaimLoop::ClaimLoop(TaskQueue& queue, Runs& runs, LeaseKeeper& keeper, ClaimLoopOptions options)
    : queue_(queue), runs_(runs), keeper_(keeper), options_(std::move(options)) {
  CHECK(options_.capacity > 0);
}

Millis ClaimLoop::step(MonoTime now) {
  for (RunEnded& ended : runs_.take_ended()) ended_.push_back(std::move(ended));
  if (phase_ == Phase::kWorking && keeper_.drain_ordered()) obey_order();
  if (standing_ && (phase_ != Phase::kWorking || standing_->is_answered())) withdraw_claim(now);
  if (phase_ == Phase::kDraining && drain_until_ && now >= *drain_until_ && !held_.empty()) stop_all();
  if (!ended_.empty() && now >= retry_at_) {
    settle(now);
    return Millis{0};
  }
  if (may_claim(now)) {
    claim(now);
    return Millis{0};
  }
  if (may_leave_claim(now)) leave_claim(now);
  return until_next(now);
}

void ClaimLoop::drain(MonoTime now) {
  switch (phase_) {
    case Phase::kWorking:
      phase_ = Phase::kDraining;
      drain_until_ = now + options_.drain;
      keeper_.announce_draining();
      return;
    case Phase::kDraining:
      if (drain_until_) {
        stop_all();
      } else {
        drain_until_ = now + options_.drain;
      }
      return;
    case Phase::kStopping:
      stop_all();
      return;
  }
}

bool ClaimLoop::finished() const {
  return phase_ != Phase::kWorking && held_.empty() && !standing_;
}

void ClaimLoop::settle(MonoTime now) {
  const std::size_t count = std::min(ended_.size(), kSettleBatchMax);
  failpoint("worker.before_settle");
  const auto answers = queue_.settle(std::span(ended_).first(count));
  failpoint("worker.after_settle");
  CHECK(answers.size() == count);

  std::vector<RunEnded> again;
  bool unavailable = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Answered answered = take_answer(ended_[i], answers[i]);
    if (answered == Answered::kDone) continue;
    unavailable = unavailable || answered == Answered::kStoreUnavailable;
    again.push_back(std::move(ended_[i]));
  }
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  ended_.insert(ended_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  if (unavailable) {
    back_off(now);
  } else {
    backoff_ = Millis{0};
  }
}

ClaimLoop::Answered ClaimLoop::take_answer(RunEnded& ended, const Result<TaskState>& answer) {
  if (answer) {
    count(ended);
    let_go(ended.lease);
    return Answered::kDone;
  }
  const Error& error = answer.error();
  if (error_info(error.code).retryable == Retryable::kYes) return Answered::kStoreUnavailable;
  const bool not_ours = means_not_ours(error.code);
  if (!not_ours) {
    if (auto failure = failure_instead(ended, error)) {
      ended.end = *std::move(failure);
      return Answered::kSendOther;
    }
  }
  // A deadline, a cancel or an operator may end a task at any time: nothing is wrong when its run comes late.
  log_write(not_ours ? LogLevel::kInfo : LogLevel::kWarn, "worker", "the end of a run was not taken",
            {{"task", ended.lease.task.to_string()}, {"error", to_string(error)}});
  ++counts_.refused;
  let_go(ended.lease);
  return Answered::kDone;
}

void ClaimLoop::count(const RunEnded& ended) {
  if (std::holds_alternative<Completion>(ended.end)) ++counts_.completed;
  if (std::holds_alternative<Failure>(ended.end)) ++counts_.failed;
  if (std::holds_alternative<Release>(ended.end)) ++counts_.released;
  if (std::holds_alternative<CancelConfirmed>(ended.end)) ++counts_.cancelled;
}

void ClaimLoop::let_go(const Lease& lease) {
  keeper_.let_go(lease);
  std::erase_if(held_, [&](const Held& held) { return held.lease == lease; });
}

bool ClaimLoop::may_claim(MonoTime now) const {
  if (!wants_work() || now < retry_at_ || !keeper_.registered()) return false;
  return !left_slot_free_ || now >= next_claim_ || queue_.changes() != seen_changes_;
}

ClaimRequest ClaimLoop::request() const {
  ClaimRequest request{.worker_id = options_.worker_id,
                       .serves = options_.serves,
                       .n = options_.capacity - held(),
                       .lease = options_.lease,
                       .capacity = options_.capacity};
  for (const Held& held : held_) request.running_priorities.push_back(held.priority);
  return request;
}

void ClaimLoop::claim(MonoTime now) {
  if (standing_) withdraw_claim(now);
  if (!may_claim(now)) return;
  const int free_slots = options_.capacity - held();
  seen_changes_ = queue_.changes();
  auto claimed = queue_.claim(request());
  if (!claimed) {
    take_refusal(claimed.error(), now);
    return;
  }
  failpoint("worker.after_claim");
  CHECK(claimed->size() <= static_cast<std::size_t>(free_slots));
  backoff_ = Millis{0};
  left_slot_free_ = claimed->size() < static_cast<std::size_t>(free_slots);
  next_claim_ = now + options_.poll_max;
  start(*std::move(claimed), now + options_.lease);
  if (held_.empty() && options_.when_empty == WhenEmpty::kFinish) finish_if_empty(now);
}

bool ClaimLoop::may_leave_claim(MonoTime now) const {
  return may_stand_ && !standing_ && left_slot_free_ && wants_work() && now >= retry_at_;
}

void ClaimLoop::leave_claim(MonoTime now) {
  auto left = queue_.leave_claim(request(), options_.wake);
  if (!left) {
    take_refusal(left.error(), now);
    return;
  }
  standing_ = *std::move(left);
  may_stand_ = standing_ != nullptr;
}

void ClaimLoop::withdraw_claim(MonoTime now) {
  auto taken = standing_->withdraw();
  standing_.reset();
  if (!taken) {
    if (phase_ == Phase::kWorking) take_refusal(taken.error(), now);
    return;
  }
  if (taken->tasks.empty()) return;
  failpoint("worker.after_claim");
  CHECK(taken->tasks.size() <= static_cast<std::size_t>(options_.capacity - held()));
  if (phase_ == Phase::kWorking) {
    start(std::move(taken->tasks), now + taken->lease_left);
    left_slot_free_ = held() < options_.capacity;
  } else {
    give_back(taken->tasks);
  }
}

void ClaimLoop::take_refusal(const Error& error, MonoTime now) {
  log_warn("worker", "the queue gives no work", {{"error", to_string(error)}});
  // What nobody may take until a person has decided is not waited for by one that is to end.
  const bool is_hopeless = error.code == ErrorCode::kStoreRegressed && options_.when_empty == WhenEmpty::kFinish;
  if (error_info(error.code).retryable == Retryable::kYes && !is_hopeless) {
    back_off(now);
    return;
  }
  failure_ = error;
  drain(now);
}

// Started before it is held: the keeper may want to stop it at once.
void ClaimLoop::start(std::vector<ClaimedTask> claimed, MonoTime expires_at) {
  for (ClaimedTask& task : claimed) {
    const Lease lease = task.lease;
    ++counts_.claimed;
    held_.push_back({lease, task.task.priority});
    runs_.start(std::move(task), expires_at);
    keeper_.hold(lease, expires_at);
  }
}

void ClaimLoop::give_back(std::span<const ClaimedTask> claimed) {
  for (const ClaimedTask& task : claimed) {
    ++counts_.claimed;
    held_.push_back({task.lease, task.task.priority});
    ended_.push_back({task.lease, Release{}});
  }
}

// What is blocked waits for something that waits or runs, or for what this worker does not serve.
void ClaimLoop::finish_if_empty(MonoTime now) {
  const auto backlog = queue_.backlog(options_.serves);
  if (!backlog) {
    take_refusal(backlog.error(), now);
    return;
  }
  if (backlog->waiting == 0 && backlog->running == 0) drain(now);
}

// The store knows already.
void ClaimLoop::obey_order() {
  phase_ = Phase::kDraining;
  was_ordered_ = true;
  log_info("worker", "told to drain: no more work is taken, what runs may finish", {{"worker", options_.worker_id}});
}

void ClaimLoop::stop_all() {
  phase_ = Phase::kStopping;
  for (const Held& held : held_) runs_.stop(held.lease, StopReason::kShutdown);
}

void ClaimLoop::back_off(MonoTime now) {
  backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
  retry_at_ = now + backoff_;
}

Millis ClaimLoop::until_next(MonoTime now) const {
  if (finished()) return Millis{0};
  MonoTime next = now + options_.poll_max;
  if (phase_ == Phase::kDraining) next = std::min(next, drain_until_.value_or(next));
  if (now < retry_at_) next = std::min(next, retry_at_);
  if (phase_ == Phase::kWorking && left_slot_free_) next = std::min(next, std::max(next_claim_, retry_at_));
  return std::max(next - now, Millis{0});
}

}  // namespace drover
