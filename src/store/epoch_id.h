// The random name of an epoch; see core/epoch.h.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/rng.h"

namespace drover {

[[nodiscard]] inline std::string new_epoch_id(Rng& rng) {
  return fmt::format("{:016x}", rng.next());
}

}  // namespace drover
