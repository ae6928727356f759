// Everything that a store holds, as text: two stores that hold the same give the same text.
#pragma once

#include <string>

#include "store/store.h"

namespace drover::sim {

[[nodiscard]] Result<std::string> dump_store(Store& store);

}  // namespace drover::sim
