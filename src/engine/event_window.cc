#include "engine/event_window.h"

#include <algorithm>

namespace drover {

namespace {

constexpr int kPage = 1'000;

// The number before the first event at `from` or later, between `low` and `high`. Times of events may run backwards a
// little where a clock was set; then the window is as good as the times are.
Result<std::int64_t> find_begin(Store& store, Time from, std::int64_t low, std::int64_t high) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const auto page = store.events(middle, 1);
    if (!page) return std::unexpected(page.error());
    if (page->empty() || page->front().at >= from) {
      high = middle;
    } else {
      low = std::max(middle + 1, page->front().seq);
    }
  }
  return low;
}

}  // namespace

Result<EventWindow> read_event_window(Store& store, Time now, Millis span) {
  const auto last = store.last_event_seq();
  if (!last) return std::unexpected(last.error());
  EventWindow window{.from = now - span, .events = {}};
  const std::int64_t oldest = std::max<std::int64_t>(0, *last - kWindowEventsMax);
  const auto begin = find_begin(store, window.from, oldest, *last);
  if (!begin) return std::unexpected(begin.error());
  for (std::int64_t after = *begin; after < *last;) {
    auto page = store.events(after, kPage);
    if (!page) return std::unexpected(page.error());
    if (page->empty()) break;
    after = page->back().seq;
    std::ranges::move(*page, std::back_inserter(window.events));
  }
  const bool cut = *begin == oldest && oldest > 0 && !window.events.empty();
  if (cut) window.from = std::max(window.from, window.events.front().at);
  return window;
}

}  // namespace drover
