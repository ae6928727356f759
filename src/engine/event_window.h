// The latest events: those of a window of time, or as many as are looked at.
#pragma once

#include <vector>

#include "store/store.h"

namespace drover {

struct EventWindow {
  Time from{};
  std::vector<Event> events;  // oldest first
};

inline constexpr std::int64_t kWindowEventsMax = 20'000;

// The events of the last `span` before `now`; of more than kWindowEventsMax the latest, and `from` is when they begin.
// The place where they begin is searched for, so that a long log costs no more than a short one.
[[nodiscard]] Result<EventWindow> read_event_window(Store& store, Time now, Millis span);

}  // namespace drover
