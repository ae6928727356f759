// The stores that are compared.
#pragma once

#include <memory>

#include "base/clock.h"
#include "store/store.h"

namespace drover::test {

[[nodiscard]] std::unique_ptr<Store> open_memory(Clock& clock);
// On the process's own Redis, under keys of its own.
[[nodiscard]] std::unique_ptr<Store> open_on_redis(Clock& clock);

}  // namespace drover::test
