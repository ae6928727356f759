// Who types a command, for what is kept of it.
#pragma once

#include <string>

namespace drover::cli {

// user@host, as other people know this person.
[[nodiscard]] std::string who();

}  // namespace drover::cli
