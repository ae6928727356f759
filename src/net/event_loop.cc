#include "net/event_loop.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"

namespace drover {
namespace {

constexpr std::uint64_t kWakerToken = 0;
constexpr int kEventsPerWait = 64;

}  // namespace

EventLoop::Watch& EventLoop::Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    fd_ = other.fd_;
    token_ = other.token_;
  }
  return *this;
}

void EventLoop::Watch::set_events(std::uint32_t events) {
  CHECK(loop_ != nullptr);
  epoll_event event{.events = events, .data = {.u64 = token_}};
  CHECK(::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event) == 0);
}

void EventLoop::Watch::reset() {
  if (loop_ == nullptr) return;
  ::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  loop_->watched_.erase(token_);
  loop_ = nullptr;
}

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  CHECK_MSG(epoll_.is_open(), "no epoll");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakerToken}};
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_.fd(), &event) == 0);
}

EventLoop::Watch EventLoop::watch(int fd, std::uint32_t events, Ready ready) {
  const std::uint64_t token = next_token_++;
  epoll_event event{.events = events, .data = {.u64 = token}};
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  watched_.emplace(token, std::make_shared<Ready>(std::move(ready)));
  return Watch(this, fd, token);
}

void EventLoop::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  waker_.wake();
}

void EventLoop::run_once(Millis timeout) {
  std::array<epoll_event, kEventsPerWait> events;
  const Millis bounded = std::clamp(timeout, Millis{0}, Millis{60'000});
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerWait, static_cast<int>(bounded.count()));
  CHECK(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t token =
        event.data.u64;  // a copy: epoll_event is packed, and its members may not be referred to
    if (token == kWakerToken) {
      waker_.clear();
      continue;
    }
    const auto found = watched_.find(token);
    if (found == watched_.end()) continue;  // reset by what came before it
    const std::shared_ptr<Ready> ready = found->second;
    (*ready)(event.events);
  }
  run_posted();
}

void EventLoop::run_posted() {
  std::vector<std::function<void()>> posted;
  {
    const std::scoped_lock lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

}  // namespace drover
