// The doorkeeper of a store's tokens: looks at its list once a second, so that a revoked token works for no longer than
// that, and when a token comes that is not on it, so that a new one works at once. Writes down when each was last used.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/clock.h"
#include "engine/tokens.h"
#include "server/server.h"

namespace drover::server {

class TokenKeeper final : public Doorkeeper {
 public:
  // The book outlives it.
  explicit TokenKeeper(TokenBook& book)
      : book_(book), writer_([this](const std::stop_token& stop) { write_uses(stop); }) {}

  Result<Principal> principal(std::string_view token) override;

 private:
  // Has the token if there was such a one when it was asked for.
  [[nodiscard]] Result<std::shared_ptr<const TokenDocument>> document(std::string_view token);
  // Now and then, and at the end.
  void write_uses(const std::stop_token& stop);

  TokenBook& book_;
  std::mutex mutex_;
  MonoTime read_at_{};
  std::shared_ptr<const TokenDocument> document_;
  std::jthread writer_;
};

}  // namespace drover::server
