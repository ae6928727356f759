// Whether the server can do its work, for those who send it clients: asked without a token, so it names nothing.
//
// On the loop's thread only. The store is looked at on a thread of its own, so that neither a store that hangs nor a
// full pool of calls keeps anybody from an answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "drover/stats.h"
#include "net/event_loop.h"
#include "net/http.h"

namespace drover::server {

class Readiness {
 public:
  using Look = std::function<Result<std::vector<Alert>>()>;
  using Reply = std::function<void(HttpResponse)>;

  // How long an answer is good for, and how long the store may take.
  static constexpr Millis kFreshFor{1'000};
  static constexpr Millis kStoreAnswersWithin{3'000};

  // The operation of an error that a look gives if the store answers, and takes no new tasks.
  static constexpr std::string_view kWriteOperation = "readiness.write";

  // The loop outlives it. `look` tells the alerts that hold, or why the store cannot be used: kStoreRegressed if it has
  // lost something.
  Readiness(EventLoop& loop, Look look) : loop_(loop), look_(std::move(look)) {}

  // 200, or 503 with the reasons; at once, or when the store has answered.
  void ask(MonoTime now, Reply reply);
  // Answers those who have waited long enough. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now);
  // From now on the answer is no.
  void stop() { stopping_ = true; }

 private:
  struct Waiting {
    MonoTime until;
    Reply reply;
  };

  void start_look();
  void finish_look(const Result<std::vector<Alert>>& alerts);
  // `error` is the store's, if it has one.
  [[nodiscard]] HttpResponse answer(const std::optional<Error>& error) const;

  EventLoop& loop_;
  const Look look_;
  std::vector<Waiting> waiting_;  // in the order in which they came
  std::optional<MonoTime> looked_at_;
  bool is_looking_ = false;
  std::optional<Error> error_ = Error{ErrorCode::kStoreUnavailable, {}, {}};
  bool is_stalled_ = false;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace drover::server
