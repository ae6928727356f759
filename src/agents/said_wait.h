// How long a provider asks to wait, in the ways that providers and agents say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agents/wall_clock.h"
#include "drover/time.h"

namespace drover::agents {

struct SaidWait {
  std::optional<Millis> retry_after{};
  std::optional<Time> reset_at{};

  // How long to wait, whichever way it was said.
  [[nodiscard]] std::optional<Millis> from(Time now) const;
  bool operator==(const SaidWait&) const = default;
};

// In an error's text: "try again at 6:56 PM", "resets Nov 20, 1pm (Europe/Lisbon)", "retry in 32.5s", "limit
// reached|EPOCH", "reset after 21h12m33s", and the like. A clock time is the next one; one that has only just passed is
// meant too.
[[nodiscard]] SaidWait wait_in_text(std::string_view text, const WallClock& clock);
// A time by itself: what wait_in_text reads of one, or what a Retry-After header may be.
[[nodiscard]] SaidWait wait_in_time(std::string_view time, const WallClock& clock);
// A Retry-After header: seconds, or an HTTP date. `answered` is the answer's own date, if it has one.
[[nodiscard]] SaidWait wait_in_header(std::string_view value, const WallClock& clock, std::string_view answered = {});
// Seconds or milliseconds since 1970, whichever it must be.
[[nodiscard]] std::optional<Time> epoch_time(std::int64_t number);
// "Sun, 06 Nov 1994 08:49:37 GMT"
[[nodiscard]] std::optional<Time> http_date(std::string_view text);
// Typographic apostrophes and spaces as their plain forms, so that one spelling of a phrase is enough.
[[nodiscard]] std::string plain_text(std::string_view text);

}  // namespace drover::agents
