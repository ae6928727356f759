#include "worker/lease_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "worker/fence.h"

namespace drover {
namespace {

// A failed beat is tried again sooner than the next one would come.
constexpr Millis kBeatRetryMax{1'000};
// After so many missed heartbeats the store may have forgotten this worker.
constexpr int kForgottenAfterBeats = 3;
// Whatever may have become of its registration: the store may have lost it, or somebody deleted it.
constexpr int kRegisterEveryBeats = 6;
constexpr Millis kLookEvery{250};
// More news than this are not read one by one: a beat asks about everything that is held.
constexpr int kNewsMax = 500;

}  // namespace

Status check_heartbeat(Millis lease, Millis heartbeat) {
  TRY(check_lease_length(lease));
  if (heartbeat > Millis{0} && heartbeat * 2 <= lease) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("a lease ({}) must last for at least two heartbeats ({})",
                                                       format_duration(lease), format_duration(heartbeat)));
}

LeaseKeeper::LeaseKeeper(TaskQueue& queue, Runs& runs, LeaseKeeperOptions options)
    : queue_(queue), runs_(runs), options_(std::move(options)), serves_(options_.worker.serves) {
  CHECK(check_heartbeat(options_.lease, options_.heartbeat));
}

bool LeaseKeeper::registered() const {
  const std::scoped_lock lock(mutex_);
  return registered_;
}

Status LeaseKeeper::register_now(MonoTime now) {
  Status status = send_registration_if_due(now);
  const std::scoped_lock lock(mutex_);
  if (status) last_good_beat_ = now;
  if (status) next_beat_ = now + options_.heartbeat;
  return status;
}

void LeaseKeeper::hold(const Lease& lease, MonoTime expires_at) {
  const std::scoped_lock lock(mutex_);
  held_.push_back({lease, expires_at, Fence::kOpen});
}

void LeaseKeeper::let_go(const Lease& lease) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(held_, [&](const Held& held) { return held.lease == lease; });
}

bool LeaseKeeper::is_over(const Lease& lease, MonoTime now) const {
  const std::scoped_lock lock(mutex_);
  const auto held = std::ranges::find(held_, lease, &Held::lease);
  return held == held_.end() || held->expires_at <= now;
}

bool LeaseKeeper::drain_ordered() const {
  const std::scoped_lock lock(mutex_);
  return drain_ordered_;
}

void LeaseKeeper::announce_draining() {
  const std::scoped_lock lock(mutex_);
  draining_ = true;
  must_register_ = true;
}

void LeaseKeeper::announce_serves(std::vector<Serve> serves) {
  const std::scoped_lock lock(mutex_);
  if (serves == serves_) return;
  serves_ = std::move(serves);
  must_register_ = true;
}

void LeaseKeeper::register_again() {
  const std::scoped_lock lock(mutex_);
  must_register_ = true;
  next_beat_ = MonoTime{};
}

Status LeaseKeeper::unregister(const std::string& reason) {
  {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
  }
  return queue_.unregister_worker(options_.worker.id, reason);
}

Millis LeaseKeeper::step(MonoTime now) {
  fence(now);
  {
    const std::scoped_lock lock(mutex_);
    if (gone_ || now < next_beat_) return until_next(now);
  }
  beat(now);
  return Millis{0};
}

Millis LeaseKeeper::look_for_requests(MonoTime now) {
  {
    const std::scoped_lock lock(mutex_);
    if (gone_ || held_.empty()) return kLookEvery;
    if (now < next_look_) return next_look_ - now;
    next_look_ = now + kLookEvery;
  }
  queue_.wait_for_change(seen_changes_, Millis{0});
  const std::uint64_t changes = queue_.changes();
  if (changes == seen_changes_) return kLookEvery;
  const auto news = queue_.events(seen_event_, kNewsMax);
  if (!news) return kLookEvery;  // the beat will tell
  seen_changes_ = changes;
  bool must_beat = false;
  if (news->size() < static_cast<std::size_t>(kNewsMax)) {
    must_beat = std::ranges::any_of(*news, [this](const Event& event) { return concerns_us(event); });
    if (!news->empty()) seen_event_ = news->back().seq;
  } else {
    must_beat = true;
    seen_event_ = queue_.last_event_seq().value_or(news->back().seq);
  }
  if (!must_beat) return kLookEvery;
  const std::scoped_lock lock(mutex_);
  next_beat_ = now;
  return Millis{0};
}

bool LeaseKeeper::concerns_us(const Event& event) const {
  if (event.name == "task.claimed" || event.name == "task.progressed") return false;
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(held_, [&](const Held& held) { return held.lease.task == event.task; });
}

// The runs are told outside the lock: they may call back.
void LeaseKeeper::fence(MonoTime now) {
  std::vector<Lease> short_of_time;
  {
    const std::scoped_lock lock(mutex_);
    for (Held& held : held_) {
      if (held.fence == Fence::kStopping || now < fence_at(held)) continue;
      held.fence = Fence::kStopping;
      short_of_time.push_back(held.lease);
    }
  }
  for (const Lease& lease : short_of_time) {
    log_warn("worker", "lease could not be renewed in time, stopping its run", {{"task", lease.task.to_string()}});
    runs_.stop(lease, StopReason::kLeaseLost);
  }
}

void LeaseKeeper::beat(MonoTime now) {
  Status status = registered() ? send_renewal(now) : Status{};
  if (status) status = send_registration_if_due(now);

  const std::scoped_lock lock(mutex_);
  if (status) {
    last_good_beat_ = now;
    next_beat_ = now + options_.heartbeat;
    return;
  }
  must_register_ = true;
  next_beat_ = now + std::min(options_.heartbeat, kBeatRetryMax);
  log_warn("worker", "heartbeat failed", {{"error", to_string(status.error())}});
}

Status LeaseKeeper::send_registration_if_due(MonoTime now) {
  WorkerInfo info = options_.worker;
  {
    const std::scoped_lock lock(mutex_);
    const bool forgotten = now - last_good_beat_ > options_.heartbeat * kForgottenAfterBeats;
    const bool is_old = now - registered_at_ >= options_.heartbeat * kRegisterEveryBeats;
    if (registered_ && !must_register_ && !forgotten && !is_old) return {};
    info.serves = serves_;
    info.draining = draining_ || drain_ordered_;
    must_register_ = false;
  }
  info.workspace_bytes = runs_.workspace_bytes();
  Status status = queue_.register_worker(info);
  if (status) {
    const std::scoped_lock lock(mutex_);
    registered_ = true;
    registered_at_ = now;
  }
  return status;
}

Status LeaseKeeper::send_renewal(MonoTime now) {
  const std::vector<Lease> leases = this->leases();
  const auto beat = TRY(queue_.renew(options_.worker.id, leases, options_.lease));
  CHECK(beat.leases.size() == leases.size());
  for (std::size_t i = 0; i < leases.size(); ++i) take_answer(leases[i], beat.leases[i], now + options_.lease);
  const std::scoped_lock lock(mutex_);
  drain_ordered_ = drain_ordered_ || beat.drain;
  return {};
}

void LeaseKeeper::take_answer(const Lease& lease, LeaseState state, MonoTime expires_at) {
  bool tell_to_stop = false;
  {
    const std::scoped_lock lock(mutex_);
    Held* held = find(lease);
    if (held == nullptr) return;  // settled while the call was under way
    if (state == LeaseState::kLost) {
      std::erase_if(held_, [&](const Held& other) { return other.lease == lease; });
      tell_to_stop = true;
    } else {
      held->expires_at = expires_at;
      tell_to_stop = state == LeaseState::kCancelRequested && held->fence == Fence::kOpen;
      if (tell_to_stop) held->fence = Fence::kStopping;
    }
  }
  if (state != LeaseState::kLost) runs_.lease_renewed(lease, expires_at);
  if (tell_to_stop) {
    runs_.stop(lease, state == LeaseState::kLost ? StopReason::kLeaseLost : StopReason::kCancelled);
  }
}

LeaseKeeper::Held* LeaseKeeper::find(const Lease& lease) {
  const auto found = std::ranges::find(held_, lease, &Held::lease);
  return found == held_.end() ? nullptr : &*found;
}

std::vector<Lease> LeaseKeeper::leases() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Lease> leases;
  leases.reserve(held_.size());
  for (const Held& held : held_) leases.push_back(held.lease);
  return leases;
}

Millis LeaseKeeper::until_next(MonoTime now) const {
  if (gone_) return options_.heartbeat;
  MonoTime next = next_beat_;
  for (const Held& held : held_) {
    if (held.fence == Fence::kOpen) next = std::min(next, fence_at(held));
  }
  return std::max(next - now, Millis{0});
}

MonoTime LeaseKeeper::fence_at(const Held& held) const {
  return drover::fence_at(held.expires_at, options_.lease);
}

}  // namespace drover
