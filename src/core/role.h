// What a token allows; docs/operate/access.md has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace drover {

enum class Role : std::uint8_t {
  kViewer,    // reads what its owner has
  kProducer,  // enqueues and cancels for its owner, too
  kWorker,    // claims and settles, of its queues
  kOperator,  // everybody's tasks, gates, workers, dead letters
  kAdmin,     // tokens, the policy and the store as a whole, too
};
inline constexpr std::size_t kRoleCount = 5;

[[nodiscard]] std::string_view name_of(Role role);
[[nodiscard]] std::optional<Role> parse_role(std::string_view name);

}  // namespace drover
