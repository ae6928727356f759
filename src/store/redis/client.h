// Redis for many threads over one connection.
//
// Combining: whoever finds nobody at work leads. It sends everything that callers have gathered in one write and
// distributes the replies; meanwhile the next batch gathers. A caller that is alone simply leads itself. A call is
// answered within the call timeout once it is sent, and is sent within the call timeout or not at all.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/error.h"
#include "store/redis/command.h"
#include "store/redis/link.h"
#include "store/redis/reply.h"

namespace drover::redis {

using ClientOptions = LinkOptions;

// Safe from any thread. No call may be under way when it ends.
class Client {
 public:
  explicit Client(ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The reply; an error reply only if it is the caller's to interpret (see failure_of). kStoreUnavailable says "may
  // have taken effect" if the command was sent and not answered. A call of a function that Redis has lost is made again
  // after on_connect.
  [[nodiscard]] Result<Reply> call(const Command& command);
  // One after the other, with nothing of this client's other callers between them, but not atomic. One reply per
  // command, error replies among them; fails as a whole only when there is no answer.
  [[nodiscard]] Result<std::vector<Reply>> call(std::span<const Command> commands);
  // For commands that wait inside Redis for up to `timeout` (BLPOP), each on a connection of its own.
  // Nil when interrupted. After a failure it returns only when another attempt makes sense, or at the timeout.
  [[nodiscard]] Result<Reply> blocking_call(const Command& command, Millis timeout, const Interrupt& interrupt);

 private:
  struct Pending;

  [[nodiscard]] std::unique_ptr<Link> take_blocking_link();
  [[nodiscard]] static Result<Reply> call_on(Link& link, const Command& command, const Patience& patience,
                                             const Interrupt& interrupt);

  [[nodiscard]] std::optional<Error> wait_for_turn(Pending& self);
  void lead();
  void pass_lead_on();
  [[nodiscard]] std::vector<Pending*> take_batch();
  void answer(const std::vector<Pending*>& batch, Result<std::vector<Reply>> replies);
  [[nodiscard]] Result<std::vector<Reply>> send(const std::vector<Pending*>& batch);
  void judge(const Reply& answer);
  [[nodiscard]] Result<std::vector<Reply>> exchange(Connection& connection,
                                                    const std::vector<const Command*>& commands);
  [[nodiscard]] Status call_missing_again(Connection& connection, const std::vector<const Command*>& commands,
                                          std::vector<Reply>& replies);

  const Millis call_timeout_;
  const std::optional<BatchWatch> watch_;

  std::mutex mutex_;  // guards what follows
  std::deque<Pending*> line_;
  bool led_ = false;

  // The leader's own.
  Link link_;
  std::string buffer_;

  const LinkOptions blocking_options_;
  std::mutex blocking_mutex_;                         // guards what follows
  std::vector<std::unique_ptr<Link>> idle_blocking_;  // on which nobody waits now
};

}  // namespace drover::redis
