#include "net/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "net/neighbourhood.h"

namespace drover {
namespace {

// At a time, so that those who came before get to say something before others come.
constexpr int kAcceptedAtATime = 32;
// The system would hold megabytes of what each client does not read.
constexpr int kSystemHolds = 128 * 1024;
constexpr MonoTime kNever{Millis::max()};
// All connections are looked at, so not at every turn of the loop. Their limits are seconds.
constexpr Millis kBetweenLooks{50};

std::string peer_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.ss_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  } else if (address.ss_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  } else {
    return std::string(kUnixPeer);
  }
  return ::inet_ntop(address.ss_family, bytes, text.data(), text.size()) != nullptr ? text.data() : "unknown";
}

bool somebody_waits(const UniqueFd& listener) {
  pollfd waiting{.fd = listener.get(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// One who waits for our answer is left alone: it may be about to be known.
bool says_nothing(const std::shared_ptr<HttpConnection>& connection) {
  return !connection->awaits_answer();
}

bool is_no_stranger(const std::shared_ptr<HttpConnection>& connection) {
  return connection->is_known() || connection->is_closed();
}

}  // namespace

HttpServer::HttpServer(EventLoop& loop, HttpLimits limits, ByteBudget& budget, HttpConnection::Handle handle)
    : loop_(loop), limits_(limits), handle_(std::move(handle)), common_{loop_, limits_, budget, handle_} {}

HttpServer::~HttpServer() {
  for (const auto& connection : connections_) connection->close();
}

void HttpServer::listen_on(UniqueFd socket, Transport transport) {
  CHECK(transport == Transport::kPlain || certificate_);
  Listener& listener = listeners_.emplace_back();
  listener.socket = std::move(socket);
  listener.transport = transport;
  listener.watch =
      loop_.watch(listener.socket.get(), EPOLLIN, [this, &listener](std::uint32_t) { accept_all(listener); });
}

void HttpServer::stop_listening() {
  listeners_.clear();
  for (const auto& connection : connections_) {
    if (connection->is_idle()) connection->close();
  }
}

bool HttpServer::is_answering() const {
  return std::ranges::any_of(connections_, [](const auto& connection) { return connection->is_answering(); });
}

// Those for whom there is no place wait in the listener's backlog.
void HttpServer::accept_all(Listener& listener) {
  for (int i = 0; i < kAcceptedAtATime; ++i) {
    if (connections_.size() >= limits_.connections_max) {
      if (!somebody_waits(listener.socket)) return;
      if (!turn_out_stranger()) return pause();
    }
    try {
      if (!accept_one(listener)) return;
    } catch (const std::bad_alloc&) {
      log_warn("http", "cannot accept a connection: there is no memory for it");
      return pause();
    }
  }
}

bool HttpServer::accept_one(Listener& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  UniqueFd socket(
      ::accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    if (errno != EAGAIN) {
      log_warn("http", "cannot accept a connection", {{"error", std::strerror(errno)}});
      pause();
    }
    return false;
  }
  if (address.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSystemHolds, sizeof kSystemHolds);
  admit(std::move(socket), listener.transport, peer_of(address));
  return true;
}

void HttpServer::admit(UniqueFd socket, Transport transport, std::string peer) {
  std::optional<TlsSession> tls;
  if (transport == Transport::kTls) {
    CHECK(certificate_.has_value());
    tls.emplace(*certificate_);
  }
  const bool is_local_file = peer == kUnixPeer;
  const auto connection = std::make_shared<HttpConnection>(common_, std::move(socket), std::move(tls), std::move(peer));
  if (!is_local_file) {
    Line& strangers = strangers_[neighbourhood(connection->peer())];
    const std::size_t max = limits_.strangers_per_peer_max;
    if (max != 0 && strangers.size() >= max) {
      std::erase_if(strangers, is_no_stranger);
      if (std::ranges::count_if(strangers, says_nothing) >= static_cast<std::ptrdiff_t>(max))
        turn_out_stranger(strangers);
    }
    strangers.push_back(connection);
  }
  connections_.insert(connection);
  connection->open();
}

bool HttpServer::turn_out_stranger(Line& strangers) {
  std::erase_if(strangers, is_no_stranger);
  const auto oldest = std::ranges::find_if(strangers, says_nothing);
  if (oldest == strangers.end()) return false;
  const std::shared_ptr<HttpConnection> one = std::move(*oldest);
  strangers.erase(oldest);
  one->close();
  connections_.erase(one);
  return true;
}

bool HttpServer::turn_out_stranger() {
  const auto most = std::ranges::max_element(strangers_, {}, [](const auto& entry) { return entry.second.size(); });
  return most != strangers_.end() && turn_out_stranger(most->second);
}

// Until tick finds that there is room again.
void HttpServer::pause() {
  is_paused_ = true;
  for (Listener& listener : listeners_) listener.watch.set_events(0);
}

MonoTime HttpServer::tick(MonoTime now) {
  common_.budget.relieve();
  if (now < look_at_) return look_at_;
  MonoTime next = kNever;
  for (auto it = connections_.begin(); it != connections_.end();) {
    HttpConnection& connection = **it;
    if (!connection.is_closed() && now >= connection.gives_up_at()) connection.close();
    if (connection.is_closed()) {
      it = connections_.erase(it);
      continue;
    }
    next = std::min(next, connection.gives_up_at());
    ++it;
  }
  for (auto& [neighbours, strangers] : strangers_) std::erase_if(strangers, is_no_stranger);
  std::erase_if(strangers_, [](const auto& entry) { return entry.second.empty(); });
  if (is_paused_ && (connections_.size() < limits_.connections_max || !strangers_.empty())) {
    is_paused_ = false;
    for (Listener& listener : listeners_) listener.watch.set_events(EPOLLIN);
  }
  look_at_ = now + kBetweenLooks;
  return std::max(next, look_at_);
}

}  // namespace drover
