#include "server/frontage.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/token_document.h"
#include "net/neighbourhood.h"
#include "server/access.h"
#include "server/pages.h"

namespace drover::server {
namespace {

constexpr std::string_view kCookieName = "drover_signin";
// What a browser lets only TLS set: for the root of one host, and for a path.
constexpr std::string_view kHostPrefix = "__Host-";
constexpr std::string_view kSecurePrefix = "__Secure-";
// The server decides when a sign-in ends. Its cookie only has to last as long, however often that moves.
constexpr int kCookieSeconds = 30 * 24 * 3600;
constexpr std::size_t kPublicPathBytesMax = 128;

std::unexpected<Error> bad_url(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("expected a URL like https://example.org/drover: {}", what));
}

bool is_path_part(std::string_view part) {
  constexpr std::string_view kAllowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~";
  const bool is_dots = part == "." || part == "..";
  return !part.empty() && !is_dots && part.find_first_not_of(kAllowed) == std::string_view::npos;
}

Status check_path(std::string_view path) {
  if (path.size() > kPublicPathBytesMax) return bad_url("the path is too long");
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (!is_path_part(part)) return bad_url("the path may have letters, digits and -._~ between its slashes");
    if (start == 1 && is_reserved(part))
      return bad_url(fmt::format("the path cannot begin with /{}, which the server uses itself", part));
    start = end + 1;
  }
  return {};
}

// Cookies know no ports, so that servers of one machine would overwrite each other's.
std::string cookie_name(const HttpRequest& request) {
  const std::string_view host = request.header("host");
  const std::size_t colon = host.find_last_of(":]");
  const bool has_port = colon != std::string_view::npos && host[colon] == ':';
  return has_port ? fmt::format("{}_{}", kCookieName, host.substr(colon + 1)) : std::string(kCookieName);
}

// Whether the browser came by TLS, to this server or to the proxy before it.
bool is_secure(const Frontage& front, const HttpRequest& request) {
  if (front.has_tls || request.header("origin").starts_with("https://")) return true;
  const auto& url = front.public_url;
  return url && url->scheme == "https" && to_lower(request.header("host")) == url->host;
}

bool is_at_public_url(const Frontage& front, const HttpRequest& request) {
  const auto& url = front.public_url;
  if (!url) return false;
  const std::string origin = to_lower(request.header("origin"));
  return origin.empty() ? to_lower(request.header("host")) == url->host
                        : origin == fmt::format("{}://{}", url->scheme, url->host);
}

std::optional<std::string_view> find_cookie(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
  }
  return std::nullopt;
}

// Those that only TLS can set first.
std::string_view signin_cookie(const HttpRequest& request) {
  const std::string name = cookie_name(request);
  for (const std::string_view prefix : {kHostPrefix, kSecurePrefix, std::string_view()}) {
    if (const auto value = find_cookie(request.header("cookie"), std::string(prefix) + name)) return *value;
  }
  return {};
}

}  // namespace

Result<PublicUrl> parse_public_url(std::string_view text) {
  PublicUrl url;
  const std::size_t scheme = text.find("://");
  url.scheme = scheme == std::string_view::npos ? "" : to_lower(text.substr(0, scheme));
  if (url.scheme != "http" && url.scheme != "https") return bad_url("it must begin with http:// or https://");
  text.remove_prefix(scheme + 3);
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.host = to_lower(text.substr(0, slash));
  if (host_without_port(url.host).empty()) return bad_url("the host is missing or not valid");
  std::string_view path = text.substr(slash);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (const Status good = check_path(path); !good) return std::unexpected(good.error());
  url.path = path;
  return url;
}

std::string_view without_path(const PublicUrl& url, std::string_view target) {
  if (url.path.empty() || !target.starts_with(url.path)) return target;
  const std::string_view rest = target.substr(url.path.size());
  if (rest.empty()) return "/";
  return rest.front() == '/' ? rest : target;
}

std::string signin_link(std::string_view server_url, std::string_view code) {
  return fmt::format("{}/#in={}", server_url, code);
}

std::string url_for(const Frontage& front, const HttpRequest& request) {
  if (const auto& url = front.public_url) return fmt::format("{}://{}{}", url->scheme, url->host, url->path);
  if (request.peer == kUnixPeer) return front.address;
  return fmt::format("{}://{}", front.has_tls ? "https" : "http", request.header("host"));
}

std::string set_signin_cookie(const Frontage& front, const HttpRequest& request, std::string_view cookie) {
  const auto& url = front.public_url;
  const bool has_path = url && is_at_public_url(front, request) && !url->path.empty();
  const std::string path = has_path ? url->path : "/";
  const bool secure = is_secure(front, request);
  const std::string_view prefix = !secure ? std::string_view() : has_path ? kSecurePrefix : kHostPrefix;
  return fmt::format("{}{}={}; Path={}; Max-Age={}; HttpOnly; SameSite=Strict{}", prefix, cookie_name(request), cookie,
                     path, cookie.empty() ? 0 : kCookieSeconds, secure ? "; Secure" : "");
}

std::string credentials_of_token(std::string_view token) {
  return std::string(token.starts_with(kSigninPrefix) ? kSigninPrefix : token);
}

std::string credentials_of(const HttpRequest& request) {
  if (!request.header("authorization").empty()) return credentials_of_token(bearer_token(request));
  const std::string_view secret = request.header("drover-signin");
  return secret.empty() ? std::string() : signin_text(signin_cookie(request), secret);
}

}  // namespace drover::server
