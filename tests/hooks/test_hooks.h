// What a test does with the failpoints and planted bugs of src/base: a program that links this has them.
#pragma once

#include <functional>
#include <string_view>

#include "base/failpoint.h"
#include "base/planted_bug.h"

namespace drover {

// Called with the name of each failpoint that is passed. Replaces the handler; an empty function disarms. Not
// thread-safe: set it before threads start.
void set_failpoint_handler(std::function<void(std::string_view)> handler);

// One at a time; kNone takes it out again.
void plant(PlantedBug bug);

[[nodiscard]] std::string_view name_of(Failpoint step);
[[nodiscard]] std::string_view name_of(PlantedBug bug);

}  // namespace drover
