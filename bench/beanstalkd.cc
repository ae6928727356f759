#include "beanstalkd.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "ground.h"

namespace drover::bench {
namespace {

constexpr int kPriority = 1;
constexpr int kRunSeconds = 60;
constexpr std::size_t kPayloadBytes = 200;

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path of the socket is too long: " + path);
  std::ranges::copy(path, address.sun_path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(), path);
  }
  return fd;
}

}  // namespace

Beanstalkd::Beanstalkd(const std::filesystem::path& folder)
    : socket_path_((folder / "beanstalkd.sock").string()),
      server_({"beanstalkd", "-l", "unix:" + socket_path_, "-b", folder.string(), "-f0"}) {
  wait_for_socket(socket_path_, server_);
  socket_ = connect_to(socket_path_);
}

void Beanstalkd::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::system_error(errno, std::generic_category(), "beanstalkd");
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Beanstalkd::fill_buffer() {
  std::array<char, 64 * 1024> piece;
  const ssize_t size = ::recv(socket_.get(), piece.data(), piece.size(), 0);
  if (size <= 0) throw std::runtime_error("beanstalkd has gone");
  buffer_.append(piece.data(), static_cast<std::size_t>(size));
}

std::string Beanstalkd::receive_line(std::string_view expected) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) fill_buffer();
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  if (!line.starts_with(expected)) throw std::runtime_error(fmt::format("beanstalkd: {}", line));
  return line;
}

void Beanstalkd::skip(std::size_t bytes) {
  while (buffer_.size() < bytes) fill_buffer();
  buffer_.erase(0, bytes);
}

void Beanstalkd::insert(int count, int batch) {
  const std::string put =
      fmt::format("put {} 0 {} {}\r\n{}\r\n", kPriority, kRunSeconds, kPayloadBytes, std::string(kPayloadBytes, 'x'));
  for (int done = 0; done < count; done += batch) {
    const int now = std::min(batch, count - done);
    std::string commands;
    for (int i = 0; i < now; ++i) commands += put;
    send(commands);
    for (int i = 0; i < now; ++i) static_cast<void>(receive_line("INSERTED "));
  }
}

void Beanstalkd::drain(int count, int batch) {
  for (int done = 0; done < count; done += batch) {
    const int now = std::min(batch, count - done);
    std::string takes;
    for (int i = 0; i < now; ++i) takes += "reserve-with-timeout 0\r\n";
    send(takes);
    std::string ends;
    for (int i = 0; i < now; ++i) {
      const std::string line = receive_line("RESERVED ");
      skip(kPayloadBytes + 2);
      const std::size_t id = line.find(' ') + 1;
      ends += fmt::format("delete {}\r\n", line.substr(id, line.find(' ', id) - id));
    }
    send(ends);
    for (int i = 0; i < now; ++i) static_cast<void>(receive_line("DELETED"));
  }
}

}  // namespace drover::bench
