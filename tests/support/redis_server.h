// A Redis of a test's own: Debian's redis-server on a free loopback port and a Unix socket, in a folder that goes with
// it.
//
// It dies with the thread that started it, and so with the test program, however that ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "store/redis/address.h"
#include "store/redis/command.h"
#include "store/redis/reply.h"
#include "support/shifted_clock.h"
#include "support/temp_dir.h"

namespace drover::test {

struct RedisOptions {
  bool appendonly = false;
  std::string appendfsync = "everysec";
  std::string maxmemory_policy = "noeviction";
  std::string maxmemory;    // "" for no limit; else as in redis.conf: "2mb"
  std::string requirepass;  // "" for none
  // Non-empty: TLS on a port of its own, with a self-signed certificate for this host name or address.
  std::string tls_host;
  const ShiftedClock* clock = nullptr;  // its machine's, if that is not ours; outlives the server
  std::vector<std::string> more;        // further arguments: {"--min-replicas-to-write", "1"}
};

// Not thread-safe. Whatever does not work throws, with the end of the server's log.
class RedisServer {
 public:
  explicit RedisServer(RedisOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Over the Unix socket; the way for tests that do not need TCP.
  [[nodiscard]] std::string url(std::string_view prefix = "ade") const;
  [[nodiscard]] std::string tcp_url(std::string_view prefix = "ade") const;
  [[nodiscard]] std::string tls_url(std::string_view host, std::string_view prefix = "ade") const;
  [[nodiscard]] redis::Address address(std::string_view prefix = "ade") const;
  [[nodiscard]] redis::Address tcp_address(std::string_view prefix = "ade") const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t tls_port() const { return tls_port_; }
  [[nodiscard]] std::string certificate_file() const { return dir_.file("server.crt"); }
  [[nodiscard]] const TempDir& dir() const { return dir_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // One command, on a connection of its own. Error replies are replies.
  redis::Reply run(const redis::Command& command) const;
  // Until so many clients wait inside Redis (BLPOP), within a bound.
  void wait_for_blocked_clients(int count) const;

  void stop();       // SIGTERM, and its orderly end
  void kill_hard();  // SIGKILL
  void start();      // again, on the same ports and folder
  void freeze();     // it keeps its connections and says nothing
  void thaw();

 private:
  void start_on_free_ports();
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] bool spawn_and_wait();
  [[nodiscard]] bool wait_until_ready(int log_watch) const;
  void end(int signal);
  [[nodiscard]] std::string log_text() const;
  [[nodiscard]] std::string credentials() const;

  RedisOptions options_;
  TempDir dir_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::size_t log_begin_ = 0;  // of what the running server wrote
};

// One server for all tests of a program that keep to a prefix of their own. Started at the first call, which has to
// come from the main thread.
[[nodiscard]] RedisServer& shared_redis();
// A prefix that no other test of this program uses.
[[nodiscard]] std::string fresh_prefix();

}  // namespace drover::test
