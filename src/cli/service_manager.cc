#include "cli/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"

namespace drover::cli {
namespace {

std::int64_t number_in(const Environment& environment, std::string_view name) {
  const std::string* text = environment.find(name);
  std::int64_t number = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

ServiceManager::ServiceManager(const Environment& environment) {
  if (const std::string* socket = environment.find("NOTIFY_SOCKET")) socket_ = *socket;
  const std::int64_t for_pid = number_in(environment, "WATCHDOG_PID");
  const std::int64_t watchdog_us = number_in(environment, "WATCHDOG_USEC");
  if (watchdog_us > 0 && (for_pid == 0 || for_pid == ::getpid())) {
    alive_every_ = std::max(Millis{1}, Millis{watchdog_us / 1000 / 2});
  }
}

void ServiceManager::tell(std::string_view state) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
               size) < 0) {
    log_warn("serve", "cannot tell the service manager",
             {{"state", std::string(state)}, {"error", std::strerror(errno)}});
  }
}

}  // namespace drover::cli
