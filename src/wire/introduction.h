// What a server says to a caller who asks who they both are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/role.h"
#include "drover/time.h"

namespace drover {

// The header in which a client and a server tell each other how far they have seen the store to be (StoreMark).
inline constexpr std::string_view kSeenHeader = "drover-seen";

struct Introduction {
  std::string version;  // of the server
  Time now{};           // by the store's clock
  std::string token_id;
  Role role = Role::kViewer;
  std::optional<std::string> owner;
  std::vector<std::string> queues;
};

}  // namespace drover
