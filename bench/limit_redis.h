// What Redis can do at best: bare loops over one stream and one consumer group, no lanes, leases, events or dispatch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limit.h"
#include "redis_link.h"

namespace drover::bench {

// kThin: entries of a stream and nothing else. kLua: scripts that also keep each task's state and its result, for an
// hour.
enum class RedisLimitKind : std::uint8_t { kThin, kLua };

class RedisLimit final : public Limit {
 public:
  // Over an empty server.
  RedisLimit(RedisLink& link, RedisLimitKind kind);

  // A batch is pipelined, one command per task. When draining, the next batch is taken in the same write that ends the
  // one before.
  void insert(int count, int batch) override;
  void drain(int count, int batch) override;

 private:
  using Ids = std::vector<std::string>;

  [[nodiscard]] std::string load(std::string_view script);
  void send_take(int count);
  [[nodiscard]] Ids receive_taken();
  // Returns how many replies will come.
  [[nodiscard]] int send_end(const Ids& ids);

  RedisLink& link_;
  const RedisLimitKind kind_;
  std::string add_;  // the scripts, by their digests
  std::string take_;
  std::string end_;
};

}  // namespace drover::bench
