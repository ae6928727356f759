// Where a Drover server is: http://HOST[:PORT], https://HOST[:PORT][?ca=FILE] or unix:PATH; or several of these, with
// commas between them, in front of one store.
#pragma once

#include <string>
#include <vector>

#include "net/socket.h"

namespace drover {

struct ServerAddress {
  Endpoint endpoint;
  std::string host;  // by which the server is called
};

// kInvalidArgument if it is none of these.
[[nodiscard]] Result<ServerAddress> parse_server_url(const std::string& url);
[[nodiscard]] Result<std::vector<ServerAddress>> parse_server_urls(std::string_view urls);

}  // namespace drover
