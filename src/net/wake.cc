#include "net/wake.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "base/check.h"

namespace drover {

Waker::Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK_MSG(fd_.is_open(), "no eventfd");
}

void Waker::wake() const {
  const int saved = errno;  // of whatever a signal handler interrupted
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  errno = saved;
}

void Waker::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(fd_.get(), &count, sizeof count);
}

void wait_for_wake(const Waker& a, const Waker& b, Millis timeout) {
  std::array<pollfd, 2> fds{{{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}}};
  const Millis bounded = std::clamp(timeout, Millis{0}, Millis{60'000});
  if (::poll(fds.data(), fds.size(), static_cast<int>(bounded.count())) <= 0) return;
  a.clear();
  b.clear();
}

void block_signals_in_this_thread() {
  sigset_t all;
  sigfillset(&all);
  CHECK(::pthread_sigmask(SIG_SETMASK, &all, nullptr) == 0);
}

}  // namespace drover
