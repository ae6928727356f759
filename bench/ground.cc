#include "ground.h"

#include <fmt/format.h>
#include <poll.h>

#include <stdexcept>

namespace drover::bench {

RedisProcess::RedisProcess(const std::filesystem::path& folder)
    : socket_path_((folder / "redis.sock").string()),
      server_({"redis-server", "--port", "0", "--unixsocket", socket_path_, "--dir", folder.string(), "--save", "",
               "--appendonly", "no", "--maxmemory-policy", "noeviction"}) {
  wait_for_socket(socket_path_, server_);
  link_.emplace(socket_path_);
}

RedisProcess& Ground::redis() {
  if (!redis_) redis_.emplace(folder_);
  return *redis_;
}

RedisProcess& Ground::empty_redis() {
  redis().link().call({"FLUSHALL"});
  return *redis_;
}

void wait_for_socket(const std::string& path, Child& server) {
  constexpr int kStepMs = 10;
  constexpr int kStepsMax = 2'000;
  for (int i = 0; i < kStepsMax; ++i) {
    if (server.has_ended()) break;
    if (std::filesystem::exists(path)) return;
    ::poll(nullptr, 0, kStepMs);
  }
  throw std::runtime_error(fmt::format("no server came up at {}", path));
}

}  // namespace drover::bench
