#include "server/token_keeper.h"

namespace drover::server {
namespace {

constexpr Millis kLookAgain{1'000};

}  // namespace

Result<std::shared_ptr<const TokenDocument>> TokenKeeper::document() {
  const std::scoped_lock lock(mutex_);
  const MonoTime now = system_clock().mono();
  if (document_ != nullptr && now - read_at_ < kLookAgain) return document_;
  auto read = book_.read();
  if (!read) return std::unexpected(std::move(read.error()));
  document_ = std::make_shared<const TokenDocument>(*std::move(read));
  read_at_ = now;
  return document_;
}

Result<Principal> TokenKeeper::principal(std::string_view token) {
  if (token.empty()) {
    return fail(ErrorCode::kUnauthorised,
                "a token is needed: Authorization: Bearer TOKEN (drover token create makes one)");
  }
  const auto known = document();
  if (!known) return std::unexpected(known.error());
  const Time now = system_clock().wall();
  auto principal = find_principal(**known, token, now);
  if (principal) book_.note_use(principal->token_id, now);
  return principal;
}

}  // namespace drover::server
