// The doorkeeper of a store's tokens and sign-ins: looks at its list once a second, so that what was revoked works for
// no longer than that, and when one comes that is not on it, so that a new one works at once. Writes down when each was
// last used.
#pragma once

#include <atomic>
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

  Result<Principal> principal(std::string_view credentials) override;
  void look_again() override { is_stale_ = true; }

 private:
  // Has the token or sign-in if there was such a one when it was asked for.
  [[nodiscard]] Result<std::shared_ptr<const TokenDocument>> document(std::string_view credentials);
  // Now and then, and at the end.
  void write_uses(const std::stop_token& stop);

  TokenBook& book_;
  std::mutex mutex_;
  MonoTime read_at_{};
  std::atomic<bool> is_stale_ = false;
  std::shared_ptr<const TokenDocument> document_;
  std::jthread writer_;
};

}  // namespace drover::server
