#include "support/loopback.h"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace drover::test {
namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return place;
}

UniqueFd listen_on_loopback(std::uint16_t& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in place = loopback(0);
  socklen_t size = sizeof place;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0) throw_errno("bind");
  if (::listen(fd.get(), SOMAXCONN) != 0) throw_errno("listen");
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&place), &size) != 0) throw_errno("getsockname");
  port = ntohs(place.sin_port);
  return fd;
}

UniqueFd connect_to_loopback(std::uint16_t port, Receives receives) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (receives == Receives::kLittle) {
    const int little = 4'096;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
  }
  const sockaddr_in place = loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) return UniqueFd();
  return fd;
}

}  // namespace drover::test
