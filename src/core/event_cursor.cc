#include "core/event_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/try.h"

namespace drover {

JsonText to_json(const EventGap& gap) {
  return fmt::format(R"({{"kind":"gap","after":{},"seq":{}}})", gap.after, gap.seq);
}

Result<EventCursor::News> EventCursor::next(TaskQueue& queue, int limit) {
  News news;
  auto page = queue.events(std::max<std::int64_t>(after_ - 1, 0), limit + 1);
  if (!page) return std::unexpected(page.error());
  const auto state = TRY(log_state(queue, *page));
  if (state == LogState::kWentBack) {
    const auto kept = TRY(last_kept(queue));
    page = queue.events(kept, limit + 1);
    if (!page) return std::unexpected(page.error());
    news.went_back = EventGap{after_, kept};
    after_ = kept;
    last_.reset();
  }
  const bool has_last = !page->empty() && page->front().seq == after_;
  if (has_last) last_ = std::move(page->front());
  const auto first = page->begin() + (has_last ? 1 : 0);
  const auto end = page->end() - first > limit ? first + limit : page->end();
  news.has_more = std::cmp_greater(page->size(), limit);
  std::move(first, end, std::back_inserter(news.events));
  if (!news.events.empty()) {
    last_ = news.events.back();
    after_ = last_->seq;
  }
  return news;
}

Result<EventCursor::LogState> EventCursor::log_state(TaskQueue& queue, const std::vector<Event>& page) const {
  if (after_ == 0) return LogState::kSame;
  if (!page.empty() && page.front().seq == after_) {
    return !last_ || page.front() == *last_ ? LogState::kSame : LogState::kWentBack;
  }
  // Retention has let it go, with all before it; or it is somebody else's, whom this caller does not see.
  const auto last = TRY(queue.last_event_seq());
  if (last < after_) return LogState::kWentBack;
  if (!last_) return LogState::kSame;
  const auto oldest = TRY(queue.events(0, 1));
  return !oldest.empty() && oldest.front().seq < after_ ? LogState::kWentBack : LogState::kSame;
}

// What the store has of before the loss is older than what was read last, and what came after it is not.
Result<std::int64_t> EventCursor::last_kept(TaskQueue& queue) const {
  const auto last = queue.last_event_seq();
  if (!last || !last_) return last;
  return find_event_before(last_->at, 0, *last,
                           [&](std::int64_t after, int limit) { return queue.events(after, limit); });
}

Result<std::int64_t> find_event_before(Time from, std::int64_t low, std::int64_t high, const ReadEvents& read) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto page = TRY(read(middle, 1));
    if (page.empty() || page.front().at >= from) {
      high = middle;
    } else {
      low = std::max(middle + 1, page.front().seq);
    }
  }
  return low;
}

}  // namespace drover
