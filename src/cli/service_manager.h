// What systemd wants to hear of a service (Type=notify, WatchdogSec=), without its library: datagrams to a socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/environment.h"
#include "drover/time.h"

namespace drover::cli {

class ServiceManager {
 public:
  // The one that started this process, by NOTIFY_SOCKET and WATCHDOG_USEC; nobody, if it was not one.
  explicit ServiceManager(const Environment& environment);

  [[nodiscard]] bool is_there() const { return !socket_.empty(); }
  void tell_ready() const { tell("READY=1"); }
  void tell_stopping() const { tell("STOPPING=1"); }
  void tell_alive() const { tell("WATCHDOG=1"); }
  // How often it wants to hear that we are alive: twice as often as it must.
  [[nodiscard]] std::optional<Millis> alive_every() const { return alive_every_; }

 private:
  void tell(std::string_view state) const;

  std::string socket_;
  std::optional<Millis> alive_every_;
};

}  // namespace drover::cli
