// The two clocks of a store.
#pragma once

#include <string>

#include "drover/time.h"

namespace drover {

// What they show at one moment.
struct StoreClocks {
  Time wall{};       // may be set to anything at any time
  Millis steady{0};  // counts time that passed and that somebody saw pass; never set, never ahead of real time
  std::string boot;  // steady times compare only where this is the same
  Millis unsure{0};  // how far apart the two may have been read

  bool operator==(const StoreClocks&) const = default;
};

}  // namespace drover
