// Redis over bare hiredis: for the limits, and for what Redis says of itself.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drover::bench {

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeReply>;

// Whatever does not work throws, error replies too.
class RedisLink {
 public:
  explicit RedisLink(const std::string& socket_path);

  void send(const std::vector<std::string_view>& command);
  RedisReply receive();
  RedisReply call(const std::vector<std::string_view>& command) {
    send(command);
    return receive();
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  std::unique_ptr<redisContext, Free> context_;
};

// What the server had used up to a moment.
struct RedisUsage {
  double cpu_us = 0;
  double memory_bytes = 0;
  std::map<std::string, std::int64_t> calls = {};  // by command, also of those inside functions
  std::map<std::string, double> command_us = {};
};
[[nodiscard]] RedisUsage usage_of(RedisLink& link);
// What was used between two moments, without what asking for it took.
RedisUsage& operator+=(RedisUsage& sum, const RedisUsage& more);
[[nodiscard]] RedisUsage operator-(const RedisUsage& later, const RedisUsage& earlier);

}  // namespace drover::bench
