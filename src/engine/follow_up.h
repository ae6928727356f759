// The task that the policy wants to follow the end of another.
#pragma once

#include "base/rng.h"
#include "core/policy.h"
#include "core/step.h"

namespace drover {

// The first step of the follow-up of this ended record, or none. The ended one is its spawner, so that the tree shows
// it and the limits on depth and children bound a chain of them. It is taken even when its queue is full: it takes the
// room of the task that has ended. One that cannot be made does not hold the end up: `ended` gets an event that says
// why.
[[nodiscard]] std::optional<Step> follow_up_step(Step& ended, const Policy& policy, Rng& rng, Time now);

}  // namespace drover
