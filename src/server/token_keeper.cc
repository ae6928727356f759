#include "server/token_keeper.h"

#include <condition_variable>

#include "base/log.h"
#include "base/try.h"
#include "net/wake.h"

namespace drover::server {
namespace {

constexpr Millis kLookAgain{1'000};
constexpr Millis kBetweenWritesOfUses{60'000};

// Whether there is no such id in it.
bool lacks(const TokenDocument& document, std::string_view credentials) {
  if (const auto id = id_in_token(credentials)) return !document.tokens.contains(*id);
  const auto id = id_in_signin(credentials);
  return id && !document.signins.contains(*id);
}

}  // namespace

Result<std::shared_ptr<const TokenDocument>> TokenKeeper::document(std::string_view credentials) {
  const MonoTime came_at = system_clock().mono();
  const std::scoped_lock lock(mutex_);
  const MonoTime now = system_clock().mono();
  const bool is_new = document_ != nullptr && lacks(*document_, credentials) && read_at_ <= came_at;
  const bool is_stale = is_stale_.exchange(false);
  if (document_ != nullptr && now - read_at_ < kLookAgain && !is_new && !is_stale) return document_;
  document_ = nullptr;
  auto read = TRY(book_.read());
  document_ = std::make_shared<const TokenDocument>(std::move(read));
  read_at_ = now;
  return document_;
}

Result<Principal> TokenKeeper::principal(std::string_view credentials) {
  if (credentials.empty()) {
    return fail(ErrorCode::kUnauthorised,
                "a token is needed: send Authorization: Bearer TOKEN (`drover token create` makes one)");
  }
  const auto known = TRY(document(credentials));
  const Time now = system_clock().wall();
  auto principal = credentials.starts_with(kSigninPrefix) ? find_signed_in(*known, credentials, now)
                                                          : find_principal(*known, credentials, now);
  if (principal) book_.note_use(*principal, now);
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
