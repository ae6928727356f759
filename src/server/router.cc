#include "server/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace drover::server {
namespace {

constexpr int kMethodNotAllowed = 405;

// The parts of the path where the pattern has {…}; nothing if it does not fit.
std::optional<std::vector<std::string>> fit(std::string_view pattern, const std::vector<std::string>& path) {
  std::vector<std::string> captures;
  pattern.remove_prefix(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::size_t slash = pattern.find('/');
    const bool is_last = i + 1 == path.size();
    if ((slash == std::string_view::npos) != is_last) return std::nullopt;
    const std::string_view part = pattern.substr(0, slash);
    if (part.starts_with('{')) {
      captures.push_back(path[i]);
    } else if (part != path[i]) {
      return std::nullopt;
    }
    if (!is_last) pattern.remove_prefix(slash + 1);
  }
  return captures;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> kAll = [] {
    std::vector<Route> joined;
    for (const auto part : {task_routes(), run_routes(), worker_routes(), operate_routes(), session_routes(),
                            question_routes(), bulk_routes(), conversation_routes(), admin_routes(), signin_routes(),
                            dump_routes(), live_routes(), server_routes(), mcp_routes()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return kAll;
}

std::variant<Match, HttpResponse> find_route(const HttpRequest& request, const Target& target) {
  std::string allowed;
  for (const Route& route : routes()) {
    auto captures = fit(route.pattern, target.path);
    if (!captures) continue;
    if (route.method == request.method) return Match{&route, *std::move(captures)};
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", route.method);
  }
  const std::string path = quoted_excerpt(std::string_view(request.target).substr(0, request.target.find('?')));
  if (allowed.empty()) return problem(Error{ErrorCode::kNotFound, fmt::format("there is no {}", path), {}});
  HttpResponse refused = problem(
      kMethodNotAllowed, Error{ErrorCode::kInvalidArgument, fmt::format("{} takes {} only", path, allowed), {}});
  refused.headers.emplace_back("allow", allowed);
  return refused;
}

}  // namespace drover::server
