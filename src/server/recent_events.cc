#include "server/recent_events.h"

#include <algorithm>

#include "base/check.h"
#include "core/task_json.h"

namespace drover::server {
namespace {

std::size_t bytes_of(const Event& event) {
  return event.name.size() + event.type.size() + event.queue.size() + event.owner.size() + event.data.size();
}

std::int64_t seq_of(const RecentEvents::Recent& recent) {
  return recent.event().seq;
}

}  // namespace

void RecentEvents::restart(std::int64_t seq) {
  events_.clear();
  by_owner_.clear();
  bytes_ = 0;
  first_ = seq;
  last_ = seq;
}

void RecentEvents::add(const std::vector<Event>& events) {
  for (const Event& event : events) {
    events_.emplace_back(event);
    by_owner_[event.owner].push_back(event.seq);
    bytes_ += bytes_of(event);
    last_ = event.seq;
    while (events_.size() > events_max_ || bytes_ > bytes_max_) drop_oldest();
  }
}

void RecentEvents::drop_oldest() {
  const Event& oldest = events_.front().event();
  first_ = oldest.seq;
  bytes_ -= bytes_of(oldest);
  const auto owned = by_owner_.find(oldest.owner);
  owned->second.pop_front();
  if (owned->second.empty()) by_owner_.erase(owned);
  events_.pop_front();
}

const std::string& RecentEvents::Recent::json() const {
  if (json_.empty()) json_ = to_json(event_);
  return json_;
}

const RecentEvents::Recent& RecentEvents::at(std::int64_t seq) const {
  const auto found = std::ranges::lower_bound(events_, seq, {}, seq_of);
  CHECK(found != events_.end() && seq_of(*found) == seq);
  return *found;
}

void RecentEvents::visit(std::int64_t seq, const std::optional<std::string>& owner, const Take& take) const {
  if (!owner) {
    auto next = std::ranges::upper_bound(events_, seq, {}, seq_of);
    while (next != events_.end() && take(*next)) ++next;
    return;
  }
  const auto owned = by_owner_.find(*owner);
  if (owned == by_owner_.end()) return;
  auto next = std::ranges::upper_bound(owned->second, seq);
  while (next != owned->second.end() && take(at(*next))) ++next;
}

}  // namespace drover::server
