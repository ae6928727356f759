#include "net/socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/try.h"
#include "net/resolve.h"

namespace drover {
namespace {

using std::chrono::steady_clock;

// A peer that vanished without a word is noticed after about half a minute of silence, and within ten seconds when
// something was sent to it.
constexpr int kKeepaliveIdleSec = 15;
constexpr int kKeepaliveEverySec = 5;
constexpr int kKeepaliveProbes = 3;
constexpr int kUnackedMs = 10'000;

std::unexpected<Error> unavailable(std::string message, std::string operation) {
  return fail(ErrorCode::kStoreUnavailable, std::move(message), std::move(operation));
}

int poll_time(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<Millis>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp(left, Millis(0), Millis(60'000)).count());
}

// Until the descriptor is ready for one of the events.
Status wait_until_ready(int fd, short events, const Patience& patience, const std::string& peer,
                        const char* operation) {
  for (;;) {
    std::array<pollfd, 2> watched{{{fd, events, 0}, {-1, POLLIN, 0}}};
    if (patience.interrupt != nullptr) watched[1].fd = patience.interrupt->fd();
    const int ready = ::poll(watched.data(), watched.size(), poll_time(patience.deadline));
    if (ready < 0 && errno != EINTR) return unavailable(fmt::format("poll: {}", std::strerror(errno)), operation);
    if (ready > 0 && watched[1].revents != 0) return unavailable("interrupted", operation);
    if (ready > 0) return {};
    if (ready == 0 && steady_clock::now() >= patience.deadline)
      return unavailable(fmt::format("{} did not answer in time", peer), operation);
  }
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

class FdSocket final : public Socket {
 public:
  FdSocket(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  Status write_all(std::string_view bytes, const Patience& patience) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (would_block(errno)) {
        TRY(wait_until_ready(fd_.get(), POLLOUT, patience, peer_, "socket.write"));
      } else if (errno != EINTR) {
        return broken("socket.write");
      }
    }
    return {};
  }

  Result<std::size_t> read_some(std::span<char> into, const Patience& patience) override {
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), 0);
      if (got > 0) return static_cast<std::size_t>(got);
      if (got == 0) return unavailable(fmt::format("{} closed the connection", peer_), "socket.read");
      if (would_block(errno)) {
        TRY(wait_until_ready(fd_.get(), POLLIN, patience, peer_, "socket.read"));
      } else if (errno != EINTR) {
        return broken("socket.read");
      }
    }
  }

  bool has_input() const override {
    pollfd one{fd_.get(), POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }

 private:
  [[nodiscard]] std::unexpected<Error> broken(std::string operation) const {
    return unavailable(fmt::format("the connection to {} broke: {}", peer_, std::strerror(errno)),
                       std::move(operation));
  }

  UniqueFd fd_;
  std::string peer_;
};

void set_option(int fd, int level, int name, int value) {
  // Only refinements: a kernel that does not know one gives a connection all the same.
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

void tune_tcp(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSec);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveEverySec);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnackedMs);
}

// Waits for the connection that `fd` has begun.
Status finish_connect(int fd, const Patience& patience, const std::string& peer) {
  TRY(wait_until_ready(fd, POLLOUT, patience, peer, "socket.connect"));
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return unavailable(std::strerror(error), "socket.connect");
  return {};
}

Result<UniqueFd> connect_to(const SocketAddress& to, const Patience& patience, const std::string& peer) {
  UniqueFd fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return unavailable(fmt::format("socket: {}", std::strerror(errno)), "socket.connect");
  if (to.family() != AF_UNIX) tune_tcp(fd.get());
  if (::connect(fd.get(), to.get(), to.size()) == 0) return fd;
  // EAGAIN: a Unix socket whose backlog is full, which is nothing to wait for.
  if (errno != EINPROGRESS && errno != EINTR) return unavailable(std::strerror(errno), "socket.connect");
  TRY(finish_connect(fd.get(), patience, peer));
  return fd;
}

// The time that is left, shared out so that an address that swallows everything leaves some for the next.
Patience share_of(const Patience& all, std::size_t addresses_left) {
  const auto now = steady_clock::now();
  return {now + (all.deadline - now) / static_cast<std::int64_t>(addresses_left), all.interrupt};
}

Result<UniqueFd> connect_any(const std::vector<SocketAddress>& addresses, const Patience& patience,
                             const std::string& peer) {
  Result<UniqueFd> fd = unavailable("no address", "socket.connect");
  for (std::size_t i = 0; i < addresses.size() && !fd; ++i) {
    fd = connect_to(addresses[i], share_of(patience, addresses.size() - i), peer);
  }
  return fd;
}

Result<std::vector<SocketAddress>> addresses_of(const Endpoint& endpoint, const Patience& patience) {
  if (endpoint.transport != Endpoint::Transport::kUnix) return resolve(endpoint.host, endpoint.port, patience);
  sockaddr_un socket_name{};
  socket_name.sun_family = AF_UNIX;
  if (endpoint.path.size() >= sizeof socket_name.sun_path) {
    return fail(ErrorCode::kInvalidArgument, "the path of the Unix socket is too long for the system");
  }
  std::memcpy(socket_name.sun_path, endpoint.path.data(), endpoint.path.size());
  return std::vector{SocketAddress(reinterpret_cast<const sockaddr*>(&socket_name), sizeof socket_name)};
}

}  // namespace

Interrupt::Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Interrupt::raise() const {
  // It fails only when the counter is full, which is raised enough.
  static_cast<void>(::eventfd_write(fd_.get(), 1));
}

void Interrupt::clear() const {
  eventfd_t raised = 0;
  static_cast<void>(::eventfd_read(fd_.get(), &raised));  // fails when there is nothing to clear
}

bool Interrupt::is_raised() const {
  pollfd one{fd_.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

void Interrupt::wait(Millis timeout) const {
  const auto deadline = steady_clock::now() + timeout;
  pollfd one{fd_.get(), POLLIN, 0};
  while (::poll(&one, 1, poll_time(deadline)) <= 0) {
    if (steady_clock::now() >= deadline) return;
  }
}

Result<std::unique_ptr<Socket>> connect_socket(const Endpoint& endpoint, const Patience& patience) {
  const auto addresses = TRY(addresses_of(endpoint, patience));
  Result<UniqueFd> fd = connect_any(addresses, patience, endpoint.peer);
  if (!fd) {
    return unavailable(fmt::format("cannot connect to {}: {}", endpoint.url, fd.error().message), "socket.connect");
  }
  auto socket = std::make_unique<FdSocket>(*std::move(fd), endpoint.peer);
  if (endpoint.transport != Endpoint::Transport::kTls) return socket;
  return connect_tls(std::move(socket), endpoint, patience);
}

}  // namespace drover
