// The same random operations on two stores give the same answers and leave the same behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "store/store.h"

namespace drover::test {

// Opens an empty store that runs on this clock.
using OpenStore = std::function<std::unique_ptr<Store>(Clock& clock)>;

struct Difference {
  int operation = 0;  // the number of the operation after which it showed
  std::string what;   // the operation, and what each store said
};

// Runs seeded operations on both stores side by side; the first difference ends it. Every so often everything that can
// be seen of the stores is compared, and both must pass fsck.
[[nodiscard]] std::optional<Difference> find_difference(const OpenStore& first, const OpenStore& second,
                                                        std::uint64_t seed, int operations);

}  // namespace drover::test
