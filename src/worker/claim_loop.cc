#include "worker/claim_loop.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/text.h"
#include "worker/fence.h"

namespace drover {
namespace {

constexpr Millis kBackoffMin{100};
constexpr Millis kBackoffMax{5'000};
// Settled in one call; more waits for the next step.
constexpr std::size_t kSettleBatchMax = 256;
constexpr std::size_t kTroubleBytesMax = 300;
constexpr int kBadRequest = 400;  // the codes that blame what was sent
constexpr int kServerError = 500;

// The end that is sent instead of one that the queue will never take. Nothing left to say: the lease runs out.
std::optional<Failure> failure_instead(const RunEnded& ended, const Error& error) {
  // It would ask for the same children again.
  const bool is_agents_mistake = error_info(error.code).http_status < kServerError;
  if (const auto* suspend = std::get_if<Suspend>(&ended.end); suspend != nullptr && is_agents_mistake) {
    return Failure{.error_class = ErrorClass::kInvalid, .message = error.message, .exit_code = suspend->exit_code};
  }
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

bool concerns(const Unable& unable, const Serve& serve) {
  return !unable.type || unable.type == serve.type;
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
  take_ended();
  look_at_trouble();
  if (settling_ && settling_->is_answered) take_answers(now);
  if (claiming_ && claiming_->is_answered) take_claimed(now);
  if (phase_ == Phase::kWorking && keeper_.drain_ordered()) obey_order();
  if (standing_ && (phase_ != Phase::kWorking || standing_->is_answered() || room(now).n == 0)) withdraw_claim(now);
  if (phase_ == Phase::kWorking && options_.when_empty == WhenEmpty::kFinish && held() == 0) give_up_if_hopeless(now);
  if (phase_ == Phase::kDraining && drain_until_ && now >= *drain_until_ && held() > 0) stop_all();
  if (phase_ == Phase::kStopping) give_up_ends(now);
  if (may_settle(now)) {
    settle();
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
      runs_.give_back_waiting();
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
      gives_up_ = true;
      return;
  }
}

bool ClaimLoop::finished() const {
  return phase_ != Phase::kWorking && held() == 0 && !standing_ && !claiming_;
}

int ClaimLoop::held() const {
  return static_cast<int>(running_.size() + ended_.size() + (settling_ ? settling_->ends.size() : 0));
}

void ClaimLoop::make_call(const MakeCall& elsewhere, std::function<void()> call) const {
  if (!elsewhere) return call();
  elsewhere([call = std::move(call), wake = options_.wake] {
    call();
    wake();
  });
}

void ClaimLoop::take_ended() {
  for (RunEnded& ended : runs_.take_ended()) {
    const auto running = std::ranges::find(running_, ended.lease, &Running::lease);
    CHECK(running != running_.end());
    running_.erase(running);
    ended_.push_back(std::move(ended));
  }
}

void ClaimLoop::settle() {
  const auto count = static_cast<std::ptrdiff_t>(std::min(ended_.size(), kSettleBatchMax));
  settling_ = std::make_shared<Sent>();
  settling_->ends.assign(std::move_iterator(ended_.begin()), std::move_iterator(ended_.begin() + count));
  ended_.erase(ended_.begin(), ended_.begin() + count);
  make_call(options_.make_settlement, [&queue = queue_, settling = settling_] {
    failpoint(Failpoint::kWorkerBeforeSettle);
    settling->answers = queue.settle(settling->ends);
    failpoint(Failpoint::kWorkerAfterSettle);
    settling->is_answered = true;
  });
}

void ClaimLoop::take_answers(MonoTime now) {
  const std::shared_ptr<Sent> settled = std::exchange(settling_, nullptr);
  CHECK(settled->answers.size() == settled->ends.size());
  std::vector<RunEnded> again;
  bool unavailable = false;
  for (std::size_t i = 0; i < settled->ends.size(); ++i) {
    const Answered answered = take_answer(settled->ends[i], settled->answers[i]);
    if (answered == Answered::kDone) continue;
    unavailable = unavailable || answered == Answered::kStoreUnavailable;
    again.push_back(std::move(settled->ends[i]));
  }
  ended_.insert(ended_.begin(), std::move_iterator(again.begin()), std::move_iterator(again.end()));
  if (unavailable) {
    back_off(now);
  } else {
    backoff_ = Millis{0};
  }
  // Only a claim from now on tells whether anything is left.
  if (held() == 0 && options_.when_empty == WhenEmpty::kFinish) left_slot_free_ = false;
}

// They were tried before: what is here could not be told, or came after the second word to go.
void ClaimLoop::give_up_ends(MonoTime now) {
  std::erase_if(ended_, [&](const RunEnded& ended) {
    const bool was_tried = now < retry_at_;
    if (!was_tried || (!gives_up_ && !keeper_.is_over(ended.lease, now))) return false;
    log_warn("worker", "could not report how a run ended, gave up: the task will run again",
             {{"task", ended.lease.task.to_string()}});
    ++counts_.refused;
    keeper_.let_go(ended.lease);
    return true;
  });
}

ClaimLoop::Answered ClaimLoop::take_answer(RunEnded& ended, const Result<Settled>& answer) {
  if (answer) {
    count(ended);
    keeper_.let_go(ended.lease);
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
  log_write(not_ours ? LogLevel::kInfo : LogLevel::kWarn, "worker", "the queue refused the end of a run",
            {{"task", ended.lease.task.to_string()}, {"error", to_string(error)}});
  ++counts_.refused;
  keeper_.let_go(ended.lease);
  return Answered::kDone;
}

void ClaimLoop::count(const RunEnded& ended) {
  if (std::holds_alternative<Completion>(ended.end)) ++counts_.completed;
  if (std::holds_alternative<Failure>(ended.end)) ++counts_.failed;
  if (std::holds_alternative<Release>(ended.end)) ++counts_.released;
  if (std::holds_alternative<CancelConfirmed>(ended.end)) ++counts_.cancelled;
  if (std::holds_alternative<Suspend>(ended.end)) ++counts_.suspended;
}

// As many ends as there are slots may be unsettled: no more is claimed while the queue takes them more slowly than
// that.
int ClaimLoop::free_slots() const {
  return std::min(slots() - static_cast<int>(running_.size()), 2 * slots() - held());
}

int ClaimLoop::room_of(const Serve& serve, MonoTime now) const {
  int room = slots();
  for (const Unable& unable : unable_) {
    if (concerns(unable, serve)) room = now < unable.until ? 0 : std::min(room, 1);
  }
  if (!serve.type) return room;
  const auto limit = options_.type_limits.find(*serve.type);
  if (limit == options_.type_limits.end()) return room;
  const auto running = std::ranges::count(running_, *serve.type, &Running::type);
  return std::min(room, limit->second - static_cast<int>(running));
}

ClaimLoop::Room ClaimLoop::room(MonoTime now) const {
  Room found{.serves = {}, .n = free_slots()};
  if (found.n <= 0) return {};
  for (const Serve& serve : options_.serves) {
    const int room = room_of(serve, now);
    if (room <= 0) continue;
    found.serves.push_back(serve);
    found.n = std::min(found.n, room);
  }
  return found.serves.empty() ? Room() : found;
}

bool ClaimLoop::wants_work(MonoTime now) const {
  return phase_ == Phase::kWorking && !claiming_ && room(now).n > 0;
}

bool ClaimLoop::awaits_change(MonoTime now) const {
  if (!wants_work(now) || now < retry_at_ || !keeper_.registered()) return false;
  // Few slots are worth no call of their own while ends are on their way: more will be free when these are answered.
  return !settling_ || 2 * free_slots() >= slots();
}

bool ClaimLoop::may_claim(MonoTime now) const {
  if (!awaits_change(now)) return false;
  if (!left_slot_free_ || now >= next_claim_) return true;
  return room(now).serves != asked_ || queue_.changes() != seen_changes_;
}

ClaimRequest ClaimLoop::request(Room room, int n_max) const {
  ClaimRequest request{.worker_id = options_.worker_id,
                       .serves = std::move(room.serves),
                       .n = std::min(room.n, n_max),
                       .lease = options_.lease,
                       .capacity = options_.capacity};
  for (const Running& running : running_) request.running_priorities.push_back(running.priority);
  return request;
}

void ClaimLoop::claim(MonoTime now) {
  if (standing_) withdraw_claim(now);
  if (!may_claim(now)) return;
  const int n_max = options_.make_claim ? (slots() + 1) / 2 : slots();
  claiming_ = std::make_shared<Asked>(request(room(now), n_max), now);
  asked_ = claiming_->request.serves;
  seen_changes_ = queue_.changes();
  make_call(options_.make_claim, [&queue = queue_, claiming = claiming_] {
    claiming->answer = queue.claim(claiming->request);
    if (claiming->answer) failpoint(Failpoint::kWorkerAfterClaim);
    claiming->is_answered = true;
  });
  if (claiming_->is_answered) take_claimed(now);
}

void ClaimLoop::take_claimed(MonoTime now) {
  const std::shared_ptr<Asked> asked = std::exchange(claiming_, nullptr);
  if (!asked->answer) {
    if (phase_ == Phase::kWorking) take_refusal(asked->answer.error(), now);
    return;
  }
  std::vector<ClaimedTask>& claimed = *asked->answer;
  const MonoTime expires_at = asked->at + options_.lease;
  if (phase_ != Phase::kWorking) return give_back(claimed, expires_at);
  // Over a server the answer may be what an earlier claim took, when there was more room.
  if (const auto room = static_cast<std::size_t>(asked->request.n); claimed.size() > room) {
    give_back(std::span(claimed).subspan(room), expires_at);
    claimed.resize(room);
  }
  backoff_ = Millis{0};
  left_slot_free_ = std::cmp_less(claimed.size(), asked->request.n);
  next_claim_ = asked->at + options_.poll_max;
  start(std::move(claimed), expires_at, now);
  if (held() == 0 && options_.when_empty == WhenEmpty::kFinish) finish_if_empty(now);
}

bool ClaimLoop::may_leave_claim(MonoTime now) const {
  return may_stand_ && !standing_ && left_slot_free_ && wants_work(now) && now >= retry_at_;
}

void ClaimLoop::leave_claim(MonoTime now) {
  const ClaimRequest standing = request(room(now), slots());
  standing_n_ = standing.n;
  auto left = queue_.leave_claim(standing, options_.wake);
  if (!left) {
    take_refusal(left.error(), now);
    return;
  }
  standing_ = *std::move(left);
  may_stand_ = standing_ != nullptr;
}

void ClaimLoop::withdraw_claim(MonoTime now) {
  auto taken = standing_->withdraw();
  // The store cannot be asked now what it took, and gives nobody anything else: it is asked again.
  if (!taken && !standing_->is_answered() && phase_ == Phase::kWorking) return take_refusal(taken.error(), now);
  standing_.reset();
  if (!taken) {
    if (phase_ == Phase::kWorking) take_refusal(taken.error(), now);
    return;
  }
  if (taken->tasks.empty()) return;
  failpoint(Failpoint::kWorkerAfterClaim);
  CHECK(std::cmp_less_equal(taken->tasks.size(), slots()));
  const MonoTime expires_at = now + taken->lease_left;
  if (phase_ != Phase::kWorking) return give_back(taken->tasks, expires_at);
  left_slot_free_ = std::cmp_less(taken->tasks.size(), standing_n_);
  start(std::move(taken->tasks), expires_at, now);
}

void ClaimLoop::take_refusal(const Error& error, MonoTime now) {
  log_warn("worker", "cannot claim tasks", {{"error", to_string(error)}});
  if (error.code == ErrorCode::kUnknownWorker) {
    keeper_.register_again();
    back_off(now);
    return;
  }
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
void ClaimLoop::start(std::vector<ClaimedTask> claimed, MonoTime expires_at, MonoTime now) {
  // Frozen, or answered very late: the store may soon give them to others.
  if (now >= fence_at(expires_at, options_.lease)) return give_back(claimed, expires_at);
  for (ClaimedTask& task : claimed) {
    const Lease lease = task.lease;
    ++counts_.claimed;
    running_.push_back({lease, task.task.priority, task.task.type});
    runs_.start(std::move(task), expires_at);
    keeper_.hold(lease, expires_at);
  }
}

void ClaimLoop::give_back(std::span<const ClaimedTask> claimed, MonoTime expires_at) {
  for (const ClaimedTask& task : claimed) {
    ++counts_.claimed;
    keeper_.hold(task.lease, expires_at);
    ended_.push_back({task.lease, Release{Begun::kNo}});
  }
}

// What is blocked waits for something that waits or runs, or for what this worker does not serve.
void ClaimLoop::finish_if_empty(MonoTime now) {
  const auto backlog = queue_.backlog(runnable_serves());
  if (!backlog) {
    take_refusal(backlog.error(), now);
    return;
  }
  if (backlog->waiting == 0 && backlog->running == 0) drain(now);
}

// Those whose program is there.
std::vector<Serve> ClaimLoop::runnable_serves() const {
  std::vector<Serve> serves = options_.serves;
  std::erase_if(serves, [this](const Serve& serve) {
    return std::ranges::any_of(unable_, [&](const Unable& unable) {
      return unable.kind == Unable::Kind::kProgram && concerns(unable, serve);
    });
  });
  return serves;
}

void ClaimLoop::give_up_if_hopeless(MonoTime now) {
  if (unable_.empty()) return;
  if (!runnable_serves().empty() && !is_all_for_others(now)) return;
  failure_ = Error{ErrorCode::kUnknownType, unable_.front().why, "worker.run"};
  drain(now);
}

bool ClaimLoop::is_all_for_others(MonoTime now) {
  if (!std::exchange(unable_is_new_, false)) return false;
  std::int64_t given_back = 0;
  for (const Unable& unable : unable_) given_back += static_cast<std::int64_t>(unable.tasks);
  if (given_back == 0) return false;
  const auto backlog = queue_.backlog(runnable_serves());
  if (!backlog) take_refusal(backlog.error(), now);
  return backlog && backlog->running == 0 && backlog->waiting <= given_back;
}

void ClaimLoop::look_at_trouble() {
  std::vector<Unable> found = runs_.unable();
  if (found == unable_) return;
  unable_ = std::move(found);
  unable_is_new_ = true;
  std::vector<Serve> serves = options_.serves;
  for (Serve& serve : serves) {
    const auto why = std::ranges::find_if(unable_, [&](const Unable& unable) { return concerns(unable, serve); });
    if (why != unable_.end()) serve.trouble = to_utf8(why->why.substr(0, kTroubleBytesMax));
  }
  keeper_.announce_serves(std::move(serves));
}

// The store knows already.
void ClaimLoop::obey_order() {
  phase_ = Phase::kDraining;
  was_ordered_ = true;
  runs_.give_back_waiting();
  log_info("worker", "told to drain: running tasks may finish, no more are claimed", {{"worker", options_.worker_id}});
}

void ClaimLoop::stop_all() {
  phase_ = Phase::kStopping;
  for (const Running& running : running_) runs_.stop(running.lease, StopReason::kShutdown);
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
  for (const Unable& unable : unable_) {
    if (now < unable.until) next = std::min(next, unable.until);
  }
  if (left_slot_free_ && awaits_change(now)) next = std::min(next, next_claim_);
  return std::max(next - now, Millis{0});
}

}  // namespace drover
