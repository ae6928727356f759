// One thread's events: descriptors that became ready, and closures that other threads hand over.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "drover/time.h"
#include "net/wake.h"

namespace drover {

class EventLoop {
 public:
  using Ready = std::function<void(std::uint32_t events)>;

  // A descriptor that is looked at for as long as this lives. Must not outlive the loop; the descriptor must outlive
  // it.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), fd_(other.fd_), token_(other.token_) {}
    Watch& operator=(Watch&& other) noexcept;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { reset(); }

    [[nodiscard]] bool is_set() const { return loop_ != nullptr; }
    void set_events(std::uint32_t events);
    // Not called again, not even for what is ready already.
    void reset();

   private:
    friend class EventLoop;
    Watch(EventLoop* loop, int fd, std::uint64_t token) : loop_(loop), fd_(fd), token_(token) {}

    EventLoop* loop_ = nullptr;
    int fd_ = -1;
    std::uint64_t token_ = 0;
  };

  EventLoop();

  // Level-triggered: `ready` is called again while the descriptor stays ready.
  [[nodiscard]] Watch watch(int fd, std::uint32_t events, Ready ready);
  // From any thread: runs it on the loop's thread. What is posted while nobody runs the loop any more is dropped with
  // it.
  void post(std::function<void()> work);
  // Waits for something, at most that long, and handles what there is.
  void run_once(Millis timeout);

 private:
  void run_posted();

  UniqueFd epoll_;
  Waker waker_;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Ready>> watched_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace drover
