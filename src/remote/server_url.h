// Where a Drover server is: http://HOST[:PORT], https://HOST[:PORT][?ca=FILE] or unix:PATH.
#pragma once

#include <string>

#include "net/socket.h"

namespace drover {

struct ServerPlace {
  Endpoint endpoint;
  std::string host;  // by which the server is called
};

// kInvalidArgument if it is none of these.
[[nodiscard]] Result<ServerPlace> parse_server_url(const std::string& url);

}  // namespace drover
