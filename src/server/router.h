// From a method and a path to the handler that answers.
#pragma once

#include <string>
#include <vector>

#include "server/api.h"

namespace drover::server {

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> captures;
};

// kNotFound if no route has the path; a route with another method is a response of its own (405 with Allow).
[[nodiscard]] std::variant<Match, HttpResponse> find_route(const HttpRequest& request, const Target& target);

}  // namespace drover::server
