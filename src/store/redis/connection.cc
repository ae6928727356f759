#include "store/redis/connection.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/try.h"
#include "store/redis/reply_error.h"

namespace drover::redis {
namespace {

Endpoint endpoint_of(const Address& address) {
  return {.transport = address.transport,
          .host = address.host,
          .port = address.port,
          .path = address.path,
          .ca_file = address.ca_file,
          .peer = "Redis",
          .url = to_string(address)};
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, const Patience& patience) {
  auto socket = TRY(connect_socket(endpoint_of(address), patience));
  std::unique_ptr<Connection> connection(new Connection(std::move(socket)));
  Status ready;
  if (!address.password.empty()) ready = connection->sign_in(address, patience);
  // Before the database: of a server that wants a password this is the answer that says so.
  if (ready) ready = connection->set_name(patience);
  if (ready && address.db != 0) ready = connection->select(address.db, patience);
  if (!ready) return std::unexpected(ready.error());
  return connection;
}

Status Connection::sign_in(const Address& address, const Patience& patience) {
  Command auth("AUTH");
  if (!address.user.empty()) auth.add(address.user);
  auth.add(address.password);
  const auto reply = TRY(call(auth, patience));
  if (!reply.is_error()) return {};
  if (const auto failure = failure_of(reply)) return std::unexpected(*failure);
  return fail(ErrorCode::kUnauthorised, fmt::format("Redis refused the sign-in: {}", reply.error_text()),
              "redis.connect");
}

Status Connection::set_name(const Patience& patience) {
  const auto reply = TRY(call(Command("CLIENT", "SETNAME", "drover"), patience));
  // The name is only for people who look at CLIENT LIST; a user who may not set it may still work.
  if (!reply.is_error() || reply.error_text().starts_with("NOPERM")) return {};
  if (const auto failure = failure_of(reply)) return std::unexpected(*failure);
  // A server with too many clients, or in protected mode, says so to the first command and hangs up.
  return fail(ErrorCode::kStoreUnavailable, fmt::format("Redis refused the connection: {}", reply.error_text()),
              "redis.connect");
}

Status Connection::select(int db, const Patience& patience) {
  const auto reply = TRY(call(Command("SELECT", db), patience));
  if (!reply.is_error()) return {};
  if (const auto failure = failure_of(reply)) return std::unexpected(*failure);
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot use database {}: {}", db, reply.error_text()),
              "redis.connect");
}

Result<Reply> Connection::call(const Command& command, const Patience& patience) {
  std::string bytes;
  command.append_to(bytes);
  auto replies = TRY(exchange(bytes, 1, patience));
  return std::move(replies.front());
}

Result<Reply> Connection::must_call(const Command& command, const Patience& patience) {
  Result<Reply> reply = call(command, patience);
  if (reply && reply->is_error()) return std::unexpected(error_of(*reply));
  return reply;
}

Result<std::vector<Reply>> Connection::exchange(std::string_view commands, std::size_t count,
                                                const Patience& patience) {
  CHECK(count > 0);
  if (!is_open()) return fail(ErrorCode::kStoreUnavailable, "the connection to Redis is closed", "redis.write");
  const Status written = socket_->write_all(commands, patience);
  Result<std::vector<Reply>> replies = written ? read_replies(count, patience) : std::unexpected(written.error());
  if (!replies) close();
  return replies;
}

Result<std::vector<Reply>> Connection::read_replies(std::size_t count, const Patience& patience) {
  std::vector<Reply> replies;
  replies.reserve(count);
  while (replies.size() < count) {
    auto reply = TRY(reader_.next());
    if (std::optional<Reply>& whole = reply) {
      replies.push_back(*std::move(whole));
      continue;
    }
    const auto got = TRY(socket_->read_some(buffer_, patience));
    TRY(reader_.feed({buffer_.data(), got}));
  }
  if (!reader_.has_more()) return replies;
  return fail(ErrorCode::kStoreUnavailable, "Redis sent more replies than there were commands", "redis.read");
}

}  // namespace drover::redis
