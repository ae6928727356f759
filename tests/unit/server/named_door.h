// Tokens that need no store.
#pragma once

#include <atomic>

#include "server/server.h"

namespace drover::server {

// A token's text says who it is: "viewer:anna".
class NamedDoor final : public Doorkeeper {
 public:
  std::atomic<bool> is_locked = false;  // nobody is let in any more

  Result<Principal> principal(std::string_view token) override {
    const std::size_t colon = token.find(':');
    const auto role = parse_role(token.substr(0, colon));
    if (!role || is_locked) return fail(ErrorCode::kUnauthorised, "no such token");
    Principal principal{.token_id = std::string(token), .role = *role, .owner = {}, .queues = {}};
    if (colon != std::string_view::npos) principal.owner = token.substr(colon + 1);
    if (*role == Role::kWorker) principal.queues = {"work"};
    return principal;
  }
};

}  // namespace drover::server
