// A server as users run it, and clients that keep it busy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "bench_store.h"
#include "child.h"

namespace drover::bench {

// The binary beside this one, over a new store. Its token is that of an admin, and in DROVER_TOKEN.
class ServerProcess {
 public:
  ServerProcess(Ground& ground, Backend backend);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::string url() const { return "http://" + address(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] double resident_mb() const;
  [[nodiscard]] double cpu_seconds() const;

 private:
  // The command without what it says beside its output.
  [[nodiscard]] std::vector<std::string> quiet(const std::vector<std::string>& arguments) const;

  std::uint16_t port_;
  std::filesystem::path state_;  // what it remembers of its store, which is another one each time
  std::string store_;
  std::string token_;
  Child process_;
};

// Not open if nobody listens.
[[nodiscard]] UniqueFd connect_to(std::uint16_t port);

// A request of the server's health, and one that enqueues a task of that owner.
[[nodiscard]] std::string bare_request(const ServerProcess& server);
[[nodiscard]] std::string enqueue_request(const ServerProcess& server, const std::string& owner);

// Has `count` requests answered over 64 connections, each with one on its way all the time; per second. `request` gives
// the i-th.
[[nodiscard]] double rate_of(const ServerProcess& server, int count,
                             const std::function<const std::string&(int i)>& request);

}  // namespace drover::bench
