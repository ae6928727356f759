// Listening sockets.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "drover/error.h"

namespace drover::server {

struct Listening {
  UniqueFd socket;
  std::string host;  // as it was given; empty for a Unix socket
  int port = 0;
};

// Who may be able to connect.
enum class Reach : std::uint8_t { kThisMachine, kAnywhere };

// "HOST:PORT", "[V6]:PORT" or "unix:PATH", whose file is 0600 and replaces one that nobody listens on. An address that
// reaches further than it may is refused before anybody can connect to it.
[[nodiscard]] Result<Listening> listen_on(const std::string& address, Reach reach);

}  // namespace drover::server
