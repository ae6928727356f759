// A TCP proxy before a server, with the faults of a network.
//
// A fault holds for the connections that are open and for new ones, until the next call. Safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "drover/time.h"
#include "store/redis/address.h"

namespace drover::test {

class FaultProxy {
 public:
  // In front of a port of 127.0.0.1.
  explicit FaultProxy(std::uint16_t target_port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] redis::Address address() const;
  // How many connections clients have made so far.
  [[nodiscard]] int accepted() const;

  void pass();                        // no fault
  void delay(Millis by);              // of every answer
  void blackhole();                   // swallows everything, both ways
  void reset();                       // breaks the open connections, and every new one
  void cut_after(std::size_t bytes);  // lets so many bytes of answers through, then breaks
  // The next command does not reach the server; this is its answer ("OOM command not allowed").
  void answer_next(std::string error);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Mode : std::uint8_t { kPass, kBlackhole, kReset };

  struct Chunk {
    TimePoint due;
    std::string bytes;
  };
  // One direction's sink, and what still has to go there.
  struct Side {
    UniqueFd fd;
    std::deque<Chunk> waiting;
  };
  struct Pair {
    Side client;
    Side server;
    std::string command;  // the beginning of one that is to be answered by us
    bool broken = false;
  };

  void set(Mode mode);
  void wake() const;
  void run();
  [[nodiscard]] int next_due_ms() const;
  void accept_one();
  void serve(Pair& pair, short client_events, short server_events);
  void from_client(Pair& pair);
  void from_server(Pair& pair);
  void take_command(Pair& pair, std::string bytes);
  static void flush(Side& side, bool& broken);
  static void break_off(Pair& pair);

  const std::uint16_t target_port_;
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  UniqueFd wake_;

  mutable std::mutex mutex_;  // guards what follows
  std::list<Pair> pairs_;
  Mode mode_ = Mode::kPass;
  Millis delay_{0};
  std::optional<std::size_t> bytes_left_;
  std::optional<std::string> next_answer_;
  int accepted_ = 0;
  bool breaking_ = false;  // asked for, and not done yet
  std::condition_variable broken_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace drover::test
