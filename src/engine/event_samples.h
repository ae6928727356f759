// How long tasks waited and ran, from events; and from the records of their tasks where the events do not go back far
// enough.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace drover {

struct DurationSample {
  std::string queue;
  Time ended_at{};
  Millis took{};
};

struct EventSamples {
  std::vector<DurationSample> waits;  // from ready to started
  std::vector<DurationSample> runs;   // from started to completed or failed
};

// Of these events, oldest first. At most 1,000 records are read for each, spread over the events.
[[nodiscard]] Result<EventSamples> samples_of(Store& store, const std::vector<Event>& events);

}  // namespace drover
