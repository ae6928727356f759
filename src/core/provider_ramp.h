// The gate of a provider that pushes back. A refusal closes it for the whole fleet (the cut); then it lets one run
// through, and more with every run that the provider answers (the ramp).
//
// The gate `provider:P` has a hold by the provider while that lasts: closed until some time, then with so many permits
// for runs that start after that time. What ran before the cut is neither counted nor killed.
#pragma once

#include <cstdint>
#include <string>

#include "core/gate.h"
#include "drover/task_queue.h"

namespace drover {

// How a refusal reached us.
struct Refused {
  ProviderThrottle throttle;
  Time started_at{};         // of the run that was refused
  std::int64_t running = 0;  // how many runs use the provider
  std::string why;
  std::string by;
};

enum class RampChange : std::uint8_t { kNone, kCut, kExtended, kWidened, kRecovered };

// A run that started before the last cut says nothing new, unless it knows of a quota that ends later.
[[nodiscard]] RampChange cut_provider(GateRecord& gate, const Refused& refused, Time now);
// The provider answered a run for the first time. A run from before the gate opened again says nothing of it.
[[nodiscard]] RampChange widen_provider(GateRecord& gate, Time started_at, Time now);

// As those who run behind the gate are told of it; the gate is as it is now.
[[nodiscard]] ProviderState provider_state(const GateStatus& gate);
// {"name", "state", "resumes_at", "permits"}
[[nodiscard]] std::string to_json(const ProviderState& provider);
[[nodiscard]] Status read_json(std::string_view json, ProviderState& out);

}  // namespace drover
