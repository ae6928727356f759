#include "engine/event_window.h"

#include <algorithm>

#include "base/try.h"
#include "core/event_cursor.h"

namespace drover {

namespace {

constexpr int kPage = 1'000;

}  // namespace

Result<EventWindow> read_event_window(Store& store, Time now, Millis span) {
  const auto last = TRY(store.last_event_seq());
  EventWindow window{.from = now - span, .events = {}};
  const std::int64_t oldest = std::max<std::int64_t>(0, last - kWindowEventsMax);
  const auto begin = TRY(find_event_before(window.from, oldest, last,
                                           [&](std::int64_t after, int limit) { return store.events(after, limit); }));
  for (std::int64_t after = begin; after < last;) {
    auto page = TRY(store.events(after, kPage));
    if (page.empty()) break;
    after = page.back().seq;
    std::ranges::move(page, std::back_inserter(window.events));
  }
  const bool cut = begin == oldest && oldest > 0 && !window.events.empty();
  if (cut) window.from = std::max(window.from, window.events.front().at);
  return window;
}

}  // namespace drover
