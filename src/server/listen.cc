#include "server/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "base/try.h"

namespace drover::server {
namespace {

// As many as the system allows: a client that finds no place there tries again only after a second.
constexpr int kBacklog = SOMAXCONN;
constexpr std::string_view kUnixScheme = "unix:";

std::unexpected<Error> cannot_listen(const std::string& address, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot listen on {}: {}", address, why), "server.listen");
}

struct HostAndPort {
  std::string host;
  int port = 0;
};

Result<HostAndPort> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  int port = 0;
  if (colon != std::string::npos) {
    const char* const end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error == std::errc{} && stop == end && port >= 0 && port <= 65'535 && colon > 0) {
      return HostAndPort{.host = address.substr(0, colon), .port = port};
    }
  }
  return cannot_listen(address, "expected HOST:PORT or unix:PATH");
}

bool is_socket(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

Result<Listening> listen_unix(const std::string& address) {
  const std::string path = address.substr(kUnixScheme.size());
  sockaddr_un socket_name{};
  socket_name.sun_family = AF_UNIX;
  if (path.empty()) return cannot_listen(address, "expected unix:PATH");
  if (path.size() >= sizeof socket_name.sun_path) return cannot_listen(address, "the path is too long");
  std::memcpy(socket_name.sun_path, path.data(), path.size());
  const auto* const name = reinterpret_cast<const sockaddr*>(&socket_name);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return cannot_listen(address, std::strerror(errno));
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), name, sizeof socket_name) == 0)
    return cannot_listen(address, "another process is already listening there");
  if (errno == ECONNREFUSED && is_socket(path)) ::unlink(path.c_str());  // left behind by one that died
  const mode_t before = ::umask(S_IRWXG | S_IRWXO);
  const bool bound = ::bind(socket.get(), name, sizeof socket_name) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound) return cannot_listen(address, std::strerror(error));
  if (::listen(socket.get(), kBacklog) != 0) return cannot_listen(address, std::strerror(errno));
  return Listening{.socket = std::move(socket), .host = {}, .port = 0};
}

Result<int> port_of(const UniqueFd& socket, const std::string& address) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return cannot_listen(address, std::strerror(errno));
  }
  return bound.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port)
                                     : ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    constexpr std::uint32_t kFirstByte = 24;
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> kFirstByte == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
}

Result<Listening> listen_tcp(const std::string& address, Reach reach) {
  auto parts = TRY(split(address));
  std::string name = parts.host;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int error = ::getaddrinfo(name.c_str(), std::to_string(parts.port).c_str(), &hints, &raw);
  if (error != 0) return cannot_listen(address, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(raw, ::freeaddrinfo);
  if (reach == Reach::kThisMachine && !is_loopback(raw->ai_addr)) {
    return cannot_listen(address,
                         "other machines can reach it, and tokens would travel unencrypted; give --tls-cert and "
                         "--tls-key, or --insecure if something else protects the network");
  }
  UniqueFd socket(::socket(raw->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return cannot_listen(address, std::strerror(errno));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), raw->ai_addr, raw->ai_addrlen) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return cannot_listen(address,
                         errno == EADDRINUSE
                             ? "another process is already listening there; choose another address with --listen"
                             : std::strerror(errno));
  }
  const auto port = TRY(port_of(socket, address));
  return Listening{.socket = std::move(socket), .host = std::move(parts.host), .port = port};
}

}  // namespace

Result<Listening> listen_on(const std::string& address, Reach reach) {
  return address.starts_with(kUnixScheme) ? listen_unix(address) : listen_tcp(address, reach);
}

}  // namespace drover::server
