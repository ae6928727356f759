// Tickets for WebSockets. A browser can send no header with the request that opens one; it shows a ticket afterwards,
// which works once and soon ends, instead of a secret that lasts.
//
// Safe from any thread. In memory: a ticket is for the server that made it.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/rng.h"
#include "drover/error.h"

namespace drover::server {

inline constexpr Millis kTicketKept{30'000};
inline constexpr std::size_t kTicketsMax = 4'000;
inline constexpr std::size_t kTicketsOfCallerMax = 32;  // the oldest makes room

class TicketBooth {
 public:
  explicit TicketBooth(Rng& rng) : rng_(rng) {}

  // kLimitExceeded: kTicketsMax have been made and not been used.
  [[nodiscard]] Result<std::string> issue(std::string_view credentials, MonoTime now);
  // Whose it is; none if there is no such ticket, or no more.
  [[nodiscard]] std::optional<std::string> redeem(std::string_view ticket, MonoTime now);

 private:
  struct Ticket {
    std::string sha256;
    std::string credentials;
    MonoTime ends_at{};
  };

  void forget_ended(MonoTime now);

  Rng& rng_;
  std::mutex mutex_;
  std::deque<Ticket> tickets_;  // the oldest first
};

}  // namespace drover::server
