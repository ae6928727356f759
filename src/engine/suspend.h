// Suspend: a run ends, and its task waits for children that it spawned. docs/internals/waiting.md tells the rules.
#pragma once

#include "engine/cascade.h"

namespace drover {

// How many tasks the search for a circle looks at.
inline constexpr std::size_t kAwaitedWalkMax = 1'000;

// Decides the suspend of this record, and what follows from it. kUnknownParent: not a child of this generation.
// kCycle: a child depends on the task that would wait for it.
[[nodiscard]] Status suspend_task(RecordView& view, Cascade& cascade, const Policy& policy, const TaskRecord& waiter,
                                  const Suspend& suspend, const RunReport& report);

}  // namespace drover
