#include "door_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace agentsim {
namespace {

constexpr std::string_view kScheme = "unix:";

int connect_to_door() {
  const char* url = std::getenv("DROVER_URL");
  if (url == nullptr || !std::string_view(url).starts_with(kScheme)) return -1;
  const std::string_view path = std::string_view(url).substr(kScheme.size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

std::string read_all(int socket) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Answer ask_door(const std::string& method, const std::string& target, const std::string& body) {
  const int socket = connect_to_door();
  if (socket < 0) return {};
  const std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: drover\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: "
      "close\r\n\r\n{}",
      method, target, body.size(), body);
  std::string_view rest = request;
  while (!rest.empty()) {
    const ssize_t size = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  const std::string response = read_all(socket);
  ::close(socket);
  const std::size_t blank_line = response.find("\r\n\r\n");
  if (!response.starts_with("HTTP/1.1 ") || blank_line == std::string::npos) return {};
  return {std::atoi(response.c_str() + std::strlen("HTTP/1.1 ")), response.substr(blank_line + 4)};
}

}  // namespace agentsim
