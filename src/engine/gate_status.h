// Gates as operators see them, and the events that tell of their changes.
#pragma once

#include <string>
#include <string_view>

#include "core/breaker.h"
#include "core/gate_name.h"
#include "core/policy.h"
#include "store/store.h"

namespace drover {

// What a gate enforces though it may not be stored: an owner without a gate of its own obeys `other_owners` (the gate
// owner:*), a lock has one permit.
[[nodiscard]] GateRecord effective_gate(const GateRecord& gate, const GateRecord& other_owners);

// Forgets holds whose time is over and that limit nothing else.
void drop_expired_holds(GateRecord& gate, Time now);

// `record` is the effective one.
[[nodiscard]] GateStatus gate_status(const GateState& state, const GateRecord& record, Time now);

namespace gate_event {
[[nodiscard]] EventDraft closed(std::string_view gate, const Hold& hold);
[[nodiscard]] EventDraft opened(std::string_view gate, std::string_view why, std::string_view by);
// Permits or rate changed; neither: the limit is gone.
[[nodiscard]] EventDraft limited(std::string_view gate, HoldSource source, const std::optional<int>& permits,
                                 const std::optional<Rate>& rate, std::string_view why, std::string_view by);
// Requires a change that is one of kOpened, kClosed, kReopened; `gate` is as it is after it.
[[nodiscard]] EventDraft breaker(const GateRecord& gate, BreakerChange change);
// Its provider has just been cut off; has come back.
[[nodiscard]] EventDraft provider_slowdown(const GateRecord& gate);
[[nodiscard]] EventDraft provider_recovered(const GateRecord& gate);
// That somebody should look: the breaker of this gate is, or was, open.
[[nodiscard]] Alert breaker_alert(const GateRecord& gate);
}  // namespace gate_event

// The shares of owners that the policy gives.
[[nodiscard]] Weights weights_of(const Policy& policy);

}  // namespace drover
