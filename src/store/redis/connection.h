// One signed-in connection to Redis. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "net/socket.h"
#include "store/redis/address.h"
#include "store/redis/command.h"
#include "store/redis/reply.h"
#include "store/redis/reply_reader.h"

namespace drover::redis {

class Connection {
 public:
  // Connects, signs in, selects the database and tells Redis who we are.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const Address& address, const Patience& patience);

  // Sends commands and reads one reply for each of them. Any failure closes the connection, and then nobody knows which
  // of the commands took effect. Error replies are replies.
  [[nodiscard]] Result<std::vector<Reply>> exchange(std::string_view commands, std::size_t count,
                                                    const Patience& patience);
  [[nodiscard]] Result<Reply> call(const Command& command, const Patience& patience);
  // The same where every error reply is a failure (reply_error.h).
  [[nodiscard]] Result<Reply> must_call(const Command& command, const Patience& patience);

  [[nodiscard]] bool is_open() const { return socket_ != nullptr; }
  // Between two calls Redis says nothing. If it did, it has closed the connection, or will.
  [[nodiscard]] bool is_stale() const { return !is_open() || socket_->has_input(); }
  void close() { socket_.reset(); }

 private:
  explicit Connection(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
  [[nodiscard]] Status sign_in(const Address& address, const Patience& patience);
  [[nodiscard]] Status select(int db, const Patience& patience);
  [[nodiscard]] Status set_name(const Patience& patience);
  [[nodiscard]] Result<std::vector<Reply>> read_replies(std::size_t count, const Patience& patience);

  std::unique_ptr<Socket> socket_;  // null once closed
  ReplyReader reader_;
  std::array<char, 64 * 1024> buffer_;
};

}  // namespace drover::redis
