// What this machine is called.
#pragma once

#include <string>

namespace drover {

// As gethostname has it, of characters that a name may have; "localhost" if it has none.
[[nodiscard]] std::string host_name();

}  // namespace drover
