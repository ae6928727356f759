// A connection that is made again when it is gone, not more often than is good for the server.
//
// One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/rng.h"
#include "drover/error.h"
#include "store/redis/connection.h"

namespace drover::redis {

// A question that goes with batches of calls, in the same write, and what its answer means.
struct BatchWatch {
  enum class Verdict : std::uint8_t { kFine, kPrepareAgain };  // on_connect is run once more

  Command question;
  std::function<void()> sending;  // a batch is about to go, and the question with it
  std::function<Verdict(const Reply&)> judge;
};

struct LinkOptions {
  Address address;
  Millis connect_timeout{2'000};  // with the sign-in
  Millis call_timeout{5'000};
  // Called with every fresh connection before anything else is sent on it, and again when Redis has lost a function. A
  // failure ends the connection and is what callers are told.
  std::function<Status(Connection&, const Patience&)> on_connect;
  std::optional<BatchWatch> watch = {};
  Clock* clock = &system_clock();  // of the pauses between attempts
  Rng* rng = &system_rng();
};

class Link {
 public:
  explicit Link(LinkOptions options) : options_(std::move(options)) {}

  // The open connection, or a new one. Fails at once during the pause after a failure, with that failure's code and
  // reason.
  [[nodiscard]] Result<Connection*> get(const Interrupt* interrupt = nullptr);
  // The connection failed: 50 ms of pause, twice as much after each further failure up to 2 s, less up to a half by
  // chance, so that a fleet does not come back in one moment.
  void lost(const Error& why);
  // A call came through: the next pause is short again.
  void worked() { failures_ = 0; }
  // Ends the connection without a pause.
  void drop() { connection_.reset(); }
  // Runs on_connect once more.
  [[nodiscard]] Status prepare_again();
  [[nodiscard]] Millis pause_left() const;

 private:
  [[nodiscard]] Status connect(const Interrupt* interrupt);
  [[nodiscard]] Error refusal() const;

  LinkOptions options_;
  std::unique_ptr<Connection> connection_;
  int failures_ = 0;  // since a call came through
  MonoTime retry_at_{};
  std::optional<Error> last_failure_;  // while a pause lasts
};

}  // namespace drover::redis
