// Two ways to wake a thread that waits in poll: from any thread, and from a signal handler.
#pragma once

#include <atomic>

#include "base/unique_fd.h"
#include "drover/time.h"

namespace drover {

// An eventfd: wakes from before a wait are not lost, and several count as one.
class Waker {
 public:
  Waker();

  // From any thread; also from a signal handler.
  void wake() const;
  // Takes the wakes that came so far.
  void clear() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

// Asks one worker to leave. The first request lets work finish for the drain time, the second stops it, the third kills
// it.
class StopSignal {
 public:
  // From any thread; also from a signal handler.
  void request() {
    requests_.fetch_add(1, std::memory_order_relaxed);
    waker_.wake();
  }
  [[nodiscard]] int requests() const { return requests_.load(std::memory_order_relaxed); }
  [[nodiscard]] const Waker& waker() const { return waker_; }

 private:
  std::atomic<int> requests_{0};
  Waker waker_;
};

// Waits until one of them is woken or the time has passed, and takes their wakes.
void wait_for_wake(const Waker& a, const Waker& b, Millis timeout);

// For threads that the worker starts: signals go to the threads of the program.
void block_signals_in_this_thread();

}  // namespace drover
