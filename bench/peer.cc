#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace drover::bench {

Peer::Peer(const std::string& role, const std::string& store_path) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  words_ = UniqueFd(ends[0]);
  const UniqueFd out(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out.get(), STDOUT_FILENO);
    ::execl("/proc/self/exe", "drover_bench", role.c_str(), store_path.c_str(), nullptr);
    ::_exit(1);
  }
}

Peer::~Peer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<std::int64_t> Peer::read(Millis bound) {
  pollfd one{words_.get(), POLLIN, 0};
  if (::poll(&one, 1, static_cast<int>(bound.count())) <= 0) return std::nullopt;
  std::int64_t at_ns = 0;
  if (::read(words_.get(), &at_ns, sizeof at_ns) != sizeof at_ns) return std::nullopt;
  return at_ns;
}

}  // namespace drover::bench
