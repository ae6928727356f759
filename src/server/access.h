// Who may come in: the checks that every request passes before anything is looked up.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace drover::server {

struct AccessRules {
  std::vector<std::string> hosts;  // names by which this server is called, without a port
};

// A page of some other site, in a browser on this machine, must not reach the server: not under a name of its own
// (Host), not from its own origin (Origin, Sec-Fetch-Site). Only a link to a page of the dashboard may be on another
// site. What is wrong, or nothing.
[[nodiscard]] std::optional<HttpResponse> refuse_stranger(const AccessRules& rules, const HttpRequest& request);
// The token of "Authorization: Bearer TOKEN"; empty if there is none.
[[nodiscard]] std::string_view bearer_token(const HttpRequest& request);
// The host of "example.org:7711" or "[::1]:7711", in lower case; empty if the text is neither.
[[nodiscard]] std::string host_without_port(std::string_view host);

[[nodiscard]] std::string to_lower(std::string_view text);

}  // namespace drover::server
