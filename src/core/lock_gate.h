// The gates of locks: what every lock obeys unless somebody says otherwise.
#pragma once

#include <optional>
#include <string_view>

namespace drover {

inline constexpr std::string_view kLockGates = "lock:";

// How many tasks may run at once behind a gate that nobody has set: one behind a lock, any number behind others.
[[nodiscard]] constexpr std::optional<int> default_permits(std::string_view gate) {
  return gate.starts_with(kLockGates) ? std::optional(1) : std::nullopt;
}

}  // namespace drover
