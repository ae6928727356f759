// The doorkeeper of a store's tokens: looks at its list at most once a second, so that a revoked token works for no
// longer than that.
#pragma once

#include <mutex>
#include <optional>

#include "base/clock.h"
#include "engine/tokens.h"
#include "server/server.h"

namespace drover::server {

class TokenKeeper final : public Doorkeeper {
 public:
  explicit TokenKeeper(TokenBook& book) : book_(book) {}

  Result<Principal> principal(std::string_view token) override;

 private:
  [[nodiscard]] Result<std::shared_ptr<const TokenDocument>> document();

  TokenBook& book_;
  std::mutex mutex_;
  MonoTime read_at_{};
  std::shared_ptr<const TokenDocument> document_;
};

}  // namespace drover::server
