// Bytes of a connection in, replies out. No I/O.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "drover/error.h"
#include "store/redis/reply.h"

struct redisReader;  // NOLINT(readability-identifier-naming): the name is hiredis'

namespace drover::redis {

inline constexpr std::size_t kReplyBytesMax = std::size_t{512} << 20;

class ReplyReader {
 public:
  explicit ReplyReader(std::size_t reply_bytes_max = kReplyBytesMax);

  // Fails when one reply grows past the limit. After any failure the reader is of no more use.
  [[nodiscard]] Status feed(std::string_view bytes);
  // The next whole reply, or nothing until more is fed. Fails on bytes that are no RESP2.
  [[nodiscard]] Result<std::optional<Reply>> next();
  // Whether bytes wait that belong to no reply that next() has given.
  [[nodiscard]] bool has_more() const;

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  std::unique_ptr<redisReader, Free> reader_;
  std::size_t reply_bytes_max_;
  std::size_t unread_bytes_ = 0;  // fed since the last whole reply
};

}  // namespace drover::redis
