#include "store/redis/combined_calls.h"

#include <algorithm>

#include "store/redis/step_arguments.h"

namespace drover::redis {

Result<std::vector<Applied>> CombinedCalls::apply(std::span<const StepGroup> groups) {
  Caller self{.packed = packed_groups(groups), .groups = static_cast<std::int64_t>(groups.size())};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&self);
  while (!self.answer) {
    if (under_way_ == kUnderWayMax || waiting_.empty()) {
      moved_.wait(lock);
      continue;
    }
    const std::vector<Caller*> callers = take_waiting();
    ++under_way_;
    lock.unlock();
    send(callers);
    lock.lock();
    --under_way_;
    moved_.notify_all();
  }
  return *std::move(self.answer);
}

std::size_t CombinedCalls::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::vector<CombinedCalls::Caller*> CombinedCalls::take_waiting() {
  std::int64_t groups = 0;
  std::size_t n = 0;
  while (n < waiting_.size() && (n == 0 || groups + waiting_[n]->groups <= kGroupsMax)) groups += waiting_[n++]->groups;
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(n);
  std::vector<Caller*> taken(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return taken;
}

void CombinedCalls::send(std::span<Caller* const> callers) {
  Pack packed;
  std::int64_t groups = 0;
  for (const Caller* caller : callers) {
    packed.put(caller->packed);
    groups += caller->groups;
  }
  const auto verdicts = send_(groups, packed);
  auto next = verdicts ? verdicts->begin() : std::vector<Applied>::const_iterator();
  const std::lock_guard lock(mutex_);
  for (Caller* caller : callers) {
    if (!verdicts) {
      caller->answer = std::unexpected(verdicts.error());
      continue;
    }
    caller->answer = std::vector<Applied>(next, next + caller->groups);
    next += caller->groups;
  }
}

}  // namespace drover::redis
