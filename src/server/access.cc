#include "server/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "server/pages.h"

namespace drover::server {
namespace {

constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kMisdirected = 421;
constexpr int kUnsupportedMedia = 415;

bool is_known(const AccessRules& rules, std::string_view host) {
  const std::string name = host_without_port(host);
  return !name.empty() && std::ranges::find(rules.hosts, name) != rules.hosts.end();
}

HttpResponse refusal(int status, ErrorCode code, std::string message) {
  return problem(status, Error{code, std::move(message), {}});
}

bool is_json(std::string_view content_type) {
  const std::string type = to_lower(content_type.substr(0, content_type.find(';')));
  return type == "application/json" || type == "application/merge-patch+json" || type == "application/x-ndjson";
}

}  // namespace

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Strictly: what one program takes for a port and another for a user's name must not get past the list of hosts.
std::string host_without_port(std::string_view host) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kPortDigitsMax = 5;
  const bool is_bracketed = host.starts_with('[');
  const std::size_t end = is_bracketed ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  const std::string name = to_lower(host.substr(0, end));
  const std::string_view allowed = is_bracketed ? "0123456789abcdef:.[]" : "0123456789abcdefghijklmnopqrstuvwxyz-._";
  if (name.empty() || name.find_first_not_of(allowed) != std::string::npos) return {};
  const std::string_view port = host.substr(end);
  if (port.empty()) return name;
  const bool is_port = port.starts_with(':') && port.size() <= kPortDigitsMax + 1 &&
                       port.find_first_not_of(kDigits, 1) == std::string_view::npos;
  return is_port ? name : "";
}

std::optional<HttpResponse> refuse_stranger(const AccessRules& rules, const HttpRequest& request) {
  const auto hosts = std::ranges::count(request.headers, "host", &HttpHeaders::value_type::first);
  if (hosts != 1) return refusal(kBadRequest, ErrorCode::kInvalidArgument, "there must be one Host header");
  if (!is_known(rules, request.header("host"))) {
    return refusal(kMisdirected, ErrorCode::kForbidden,
                   fmt::format("this server does not answer to the name {}; allow it with --host",
                               quoted_excerpt(request.header("host"))));
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty()) {
    const std::size_t scheme = origin.find("://");
    if (scheme == std::string_view::npos || !is_known(rules, origin.substr(scheme + 3))) {
      return refusal(kForbidden, ErrorCode::kForbidden,
                     fmt::format("requests from the origin {} are refused", quoted_excerpt(origin)));
    }
  }
  // A link to a page, in a chat perhaps, gets the shell; nothing else is done for another site.
  if (request.header("sec-fetch-site") == "cross-site" && !is_visit(request)) {
    return refusal(kForbidden, ErrorCode::kForbidden, "requests from another site are refused");
  }
  if (!request.body.empty() && !is_json(request.header("content-type"))) {
    return refusal(kUnsupportedMedia, ErrorCode::kInvalidArgument,
                   "the body must be application/json; a PATCH may also be application/merge-patch+json, and a dump "
                   "application/x-ndjson");
  }
  return std::nullopt;
}

std::string_view bearer_token(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view value = request.header("authorization");
  if (value.size() <= kScheme.size() || to_lower(value.substr(0, kScheme.size())) != kScheme) return {};
  return value.substr(kScheme.size());
}

}  // namespace drover::server
