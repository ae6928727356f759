// Waiting for something to happen in a queue, ended by time or by the user.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "drover/task_queue.h"
#include "net/wake.h"

namespace drover::cli {

// While it lives, SIGINT and SIGTERM do not kill the process but are counted, and passed on to workers. One at a time.
class Interrupts {
 public:
  // The workers' signals outlive it.
  explicit Interrupts(std::vector<StopSignal*> workers = {});
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] static int count();

 private:
  const std::vector<StopSignal*> workers_;  // read by the signal handler
};

// While it lives, SIGHUP wakes instead of ending the process. One at a time.
class Hangups {
 public:
  Hangups();
  ~Hangups();
  Hangups(const Hangups&) = delete;
  Hangups& operator=(const Hangups&) = delete;

  [[nodiscard]] const Waker& waker() const { return waker_; }
  // Whether one came since this was last asked.
  [[nodiscard]] static bool take();

 private:
  Waker waker_;
};

enum class Seen : std::uint8_t { kNotYet, kDone };
enum class WatchEnd : std::uint8_t { kDone, kTimedOut, kInterrupted };

// Calls `look` at once and after every change of the queue, until it has seen what it waits for, `timeout` has passed,
// or SIGINT or SIGTERM came. An error of `look` ends it too, and so does `ended`, which is asked a few times a second:
// it is for what is no change of the queue.
[[nodiscard]] Result<WatchEnd> watch(
    TaskQueue& queue, std::optional<Millis> timeout, const std::function<Result<Seen>()>& look,
    const std::function<bool()>& ended = [] { return false; });

}  // namespace drover::cli
