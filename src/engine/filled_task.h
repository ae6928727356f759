// A task as a run gets it: with templates, what its parents produced is in its prompt and payload.
#pragma once

#include "core/policy.h"
#include "store/store.h"

namespace drover {

// kInvalidPayload: a template cannot be filled in; any other error is the store's.
[[nodiscard]] Result<Task> filled_task(Store& store, const Task& task, const Policy& policy);

}  // namespace drover
