#include "server/token_keeper.h"

#include <condition_variable>

#include "base/log.h"
#include "base/try.h"
#include "net/wake.h"

namespace drover::server {
namespace {

constexpr Millis kLookAgain{1'000};
constexpr Millis kBetweenWritesOfUses{60'000};

}  // namespace

Result<std::shared_ptr<const TokenDocument>> TokenKeeper::document(std::string_view token) {
  const MonoTime came_at = system_clock().mono();
  const std::scoped_lock lock(mutex_);
  const MonoTime now = system_clock().mono();
  const auto id = id_in_token(token);
  const bool is_new = id && document_ != nullptr && !document_->tokens.contains(*id) && read_at_ <= came_at;
  if (document_ != nullptr && now - read_at_ < kLookAgain && !is_new) return document_;
  auto read = TRY(book_.read());
  document_ = std::make_shared<const TokenDocument>(std::move(read));
  read_at_ = now;
  return document_;
}

Result<Principal> TokenKeeper::principal(std::string_view token) {
  if (token.empty()) {
    return fail(ErrorCode::kUnauthorised,
                "a token is needed: send Authorization: Bearer TOKEN (`drover token create` makes one)");
  }
  const auto known = TRY(document(token));
  const Time now = system_clock().wall();
  auto principal = find_principal(*known, token, now);
  if (principal) book_.note_use(principal->token_id, now);
  return principal;
}

void TokenKeeper::write_uses(const std::stop_token& stop) {
  block_signals_in_this_thread();
  std::mutex mutex;
  std::condition_variable_any stopped;
  do {
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, kBetweenWritesOfUses, [] { return false; });
    if (const Status written = book_.write_uses(); !written) {
      log_warn("server", "cannot note when tokens were used", {{"error", to_string(written.error())}});
    }
  } while (!stop.stop_requested());
}

}  // namespace drover::server
