// Where measurements take place: a folder, and a Redis of the run's own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "child.h"
#include "redis_link.h"

namespace drover::bench {

// A redis-server on a Unix socket, without persistence: what is measured is Drover and Redis, not the disk.
class RedisProcess {
 public:
  explicit RedisProcess(const std::filesystem::path& folder);

  [[nodiscard]] const std::string& socket_path() const { return socket_path_; }
  [[nodiscard]] RedisLink& link() { return *link_; }

 private:
  std::string socket_path_;
  Child server_;
  std::optional<RedisLink> link_;
};

class Ground {
 public:
  Ground(std::filesystem::path folder, std::filesystem::path peers)
      : folder_(std::move(folder)), peers_(std::move(peers)) {}

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // Where the peers from npm are installed; empty if they are not to be run.
  [[nodiscard]] const std::filesystem::path& peers() const { return peers_; }
  // Started at the first call.
  [[nodiscard]] RedisProcess& redis();
  // The same, with nothing in it.
  [[nodiscard]] RedisProcess& empty_redis();

 private:
  std::filesystem::path folder_;
  std::filesystem::path peers_;
  std::optional<RedisProcess> redis_;
};

// Until a server's socket is there; throws if it ends or takes too long.
void wait_for_socket(const std::string& path, Child& server);

}  // namespace drover::bench
