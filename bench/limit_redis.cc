#include "limit_redis.h"

#include <algorithm>
#include <stdexcept>

namespace drover::bench {
namespace {

constexpr std::string_view kAdd = R"(
local id = redis.call('XADD', KEYS[1], '*', 'p', ARGV[1])
redis.call('HSET', 't:' .. id, 's', 'q', 'a', ARGV[2])
return id)";

constexpr std::string_view kTake = R"(
local streams = redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], '>')
if not streams then return {} end
local entries = streams[1][2]
for i = 1, #entries do redis.call('HSET', 't:' .. entries[i][1], 's', 'r', 'w', 'c', 'b', ARGV[2]) end
return entries)";

constexpr std::string_view kEnd = R"(
local ended = 0
for i = 1, #ARGV do
  local id = ARGV[i]
  ended = ended + redis.call('XACK', KEYS[1], 'g', id)
  redis.call('XDEL', KEYS[1], id)
  redis.call('HSET', 't:' .. id, 's', 'd', 'r', '1')
  redis.call('EXPIRE', 't:' .. id, 3600)
end
return ended)";

constexpr std::string_view kStream = "s";
constexpr std::string_view kNow = "1789000000";
constexpr std::size_t kPayloadBytes = 200;

}  // namespace

RedisLimit::RedisLimit(RedisLink& link, RedisLimitKind kind)
    : link_(link), kind_(kind), add_(load(kAdd)), take_(load(kTake)), end_(load(kEnd)) {
  link_.call({"XGROUP", "CREATE", kStream, "g", "0", "MKSTREAM"});
}

std::string RedisLimit::load(std::string_view script) {
  const RedisReply reply = link_.call({"SCRIPT", "LOAD", script});
  return {reply->str, static_cast<std::size_t>(reply->len)};
}

void RedisLimit::insert(int count, int batch) {
  const std::string payload(kPayloadBytes, 'x');
  for (int done = 0; done < count; done += batch) {
    const int now = std::min(batch, count - done);
    for (int i = 0; i < now; ++i) {
      if (kind_ == RedisLimitKind::kThin) {
        link_.send({"XADD", kStream, "*", "p", payload});
      } else {
        link_.send({"EVALSHA", add_, "1", kStream, payload, kNow});
      }
    }
    for (int i = 0; i < now; ++i) link_.receive();
  }
}

void RedisLimit::send_take(int count) {
  const std::string n = std::to_string(count);
  if (kind_ == RedisLimitKind::kThin) {
    link_.send({"XREADGROUP", "GROUP", "g", "c", "COUNT", n, "STREAMS", kStream, ">"});
  } else {
    link_.send({"EVALSHA", take_, "1", kStream, n, kNow});
  }
}

RedisLimit::Ids RedisLimit::receive_taken() {
  const RedisReply reply = link_.receive();
  const redisReply* entries = reply.get();
  if (kind_ == RedisLimitKind::kThin && reply->type == REDIS_REPLY_ARRAY) entries = reply->element[0]->element[1];
  Ids ids;
  for (std::size_t i = 0; i < entries->elements; ++i) {
    const redisReply* id = entries->element[i]->element[0];
    ids.emplace_back(id->str, static_cast<std::size_t>(id->len));
  }
  if (ids.empty()) throw std::runtime_error("the bare queue is empty too early");
  return ids;
}

int RedisLimit::send_end(const Ids& ids) {
  if (ids.empty()) return 0;
  const auto send_with_ids = [&](std::vector<std::string_view> command) {
    command.insert(command.end(), ids.begin(), ids.end());
    link_.send(command);
  };
  if (kind_ == RedisLimitKind::kLua) {
    send_with_ids({"EVALSHA", end_, "1", kStream});
    return 1;
  }
  send_with_ids({"XACK", kStream, "g"});
  send_with_ids({"XDEL", kStream});
  return 2;
}

void RedisLimit::drain(int count, int batch) {
  Ids taken;
  for (int done = 0; done < count || !taken.empty();) {
    int replies = send_end(taken);
    const bool more = done < count;
    if (more) send_take(std::min(batch, count - done));
    while (replies-- > 0) link_.receive();
    taken.clear();
    if (more) taken = receive_taken();
    done += static_cast<int>(taken.size());
  }
}

}  // namespace drover::bench
