#include "server/ticket_booth.h"

#include <algorithm>

#include "base/sha256.h"
#include "engine/token_document.h"

namespace drover::server {

Result<std::string> TicketBooth::issue(std::string_view credentials, MonoTime now) {
  const std::lock_guard lock(mutex_);
  forget_ended(now);
  const auto is_own = [&](const Ticket& ticket) { return ticket.credentials == credentials; };
  if (std::cmp_greater_equal(std::ranges::count_if(tickets_, is_own), kTicketsOfCallerMax)) {
    tickets_.erase(std::ranges::find_if(tickets_, is_own));
  }
  if (tickets_.size() >= kTicketsMax) return fail(ErrorCode::kLimitExceeded, "too many tickets wait to be used");
  std::string text = new_secret(rng_);
  tickets_.push_back(
      {.sha256 = sha256_hex(text), .credentials = std::string(credentials), .ends_at = now + kTicketKept});
  return text;
}

std::optional<std::string> TicketBooth::redeem(std::string_view ticket, MonoTime now) {
  const std::string sha256 = sha256_hex(ticket);
  const std::lock_guard lock(mutex_);
  forget_ended(now);
  const auto found =
      std::ranges::find_if(tickets_, [&](const Ticket& one) { return is_same_secret(one.sha256, sha256); });
  if (found == tickets_.end()) return std::nullopt;
  std::string credentials = std::move(found->credentials);
  tickets_.erase(found);
  return credentials;
}

void TicketBooth::forget_ended(MonoTime now) {
  while (!tickets_.empty() && tickets_.front().ends_at <= now) tickets_.pop_front();
}

}  // namespace drover::server
