// Listening sockets.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "drover/error.h"

namespace drover::server {

struct Listening {
  UniqueFd socket;
  std::string host;  // as it was given; empty for a Unix socket
  int port = 0;
};

// "HOST:PORT", "[V6]:PORT" or "unix:PATH", whose file is 0600 and replaces one that nobody listens on.
[[nodiscard]] Result<Listening> listen_on(const std::string& address);

}  // namespace drover::server
