#include "store/redis/event_review.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/redis/run_text.h"

namespace drover::redis {
namespace {

constexpr std::size_t kFindingsMax = 100;  // of one kind; the rest is summed up in one more

}  // namespace

void Findings::add(const Finding& finding) {
  const auto is_same = [&](const Finding& told) { return told.code == finding.code && told.detail == finding.detail; };
  if (std::ranges::any_of(told_, is_same)) return;
  Kind& kind = kinds_[finding.code];
  if (++kind.n <= kFindingsMax) {
    told_.push_back(finding);
  } else {
    kind.repaired = kind.repaired && finding.repaired;
  }
}

std::vector<Finding> Findings::take() && {
  for (const auto& [code, kind] : kinds_) {
    if (kind.n <= kFindingsMax) continue;
    told_.push_back({code, fmt::format("and {} more", kind.n - kFindingsMax), kind.repaired});
  }
  return std::move(told_);
}

bool EventReview::add_page(std::span<const Reply> items) {
  bool follows = false;
  const std::int64_t before = last_;
  for (; items.size() >= 3; items = items.subspan(3)) {
    const std::int64_t seq = items[0].as_integer().value_or(0);
    if (follows || seq != last_) add(seq, items, follows);
    follows = true;
  }
  return last_ > before;
}

void EventReview::add(std::int64_t seq, std::span<const Reply> items, bool follows) {
  if (follows && seq != last_ + 1) find("event_gap", fmt::format("no event between {} and {}", last_, seq));
  last_ = std::max(last_, seq);
  const auto event = to_event(items);
  if (!event) return find("event_unreadable", fmt::format("event {}: {}", seq, event.error().message));
  if (!event->task.is_nil()) said_.insert_or_assign(event->task, Said{event->state, seq});
}

void EventReview::add_end(std::int64_t made) {
  if (last_ == 0 || last_ >= made) return;
  find("event_gap", fmt::format("the last event is {}, but {} were made", last_, made));
}

void EventReview::add_wrong_state(const TaskId& id, TaskState state) {
  find("event_state_wrong", fmt::format("task {}: is in state {}, but its last event says {}", id.to_string(),
                                        name_of(state), name_of(said_.at(id).state)));
}

}  // namespace drover::redis
