#include "server/dashboard.h"

#include <array>
#include <utility>

#include "server/pages.h"

namespace drover::server {
namespace {

constexpr std::string_view kAssets = "assets/";
constexpr std::string_view kBase = "%BASE%";
constexpr std::string_view kNotBuilt =
    "This Drover server was built without its dashboard.\n\n"
    "To build it, install Node 18 or later and npm, then run ./dev build, or configure with -DDROVER_DASHBOARD=ON.\n"
    "The REST API is at /v1, and /openapi.json describes it.\n";
// RELIABILITY 5.8: no script or style but our own files, nothing inline, nothing from elsewhere, no frames.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTypes{{
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".woff2", "font/woff2"},
      {".json", "application/json"},
      {".txt", "text/plain; charset=utf-8"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

HttpResponse with_headers(HttpResponse response, std::string_view cache) {
  response.headers.emplace_back("content-security-policy", kPolicy);
  response.headers.emplace_back("x-content-type-options", "nosniff");
  response.headers.emplace_back("referrer-policy", "no-referrer");
  response.headers.emplace_back("cache-control", cache);
  return response;
}

std::string with_base(std::string_view shell, std::string_view base) {
  std::string text;
  for (std::size_t at = 0; (at = shell.find(kBase)) != std::string_view::npos;) {
    text.append(shell.substr(0, at)).append(base);
    shell.remove_prefix(at + kBase.size());
  }
  return text.append(shell);
}

}  // namespace

Dashboard::Dashboard(std::span<const DashboardFile> files, std::string_view base) {
  for (const DashboardFile& file : files) {
    if (file.name == "index.html") shell_ = with_base(file.bytes, base);
    if (file.name.starts_with(kAssets)) assets_.emplace(file.name.substr(kAssets.size()), file);
  }
}

std::optional<HttpResponse> Dashboard::answer(const HttpRequest& request, const Target& target) const {
  if (request.method != "GET") return std::nullopt;
  if (target.path.size() == 2 && target.path.front() == "assets") {
    const auto found = assets_.find(target.path.back());
    return found == assets_.end() ? std::nullopt : std::optional(asset(found->second, request));
  }
  // Whoever asks for the root without a word on what it accepts gets it, too.
  const bool is_root = target.path.empty() || (target.path.size() == 1 && target.path.front().empty());
  if (!is_page(target) || (!is_root && !accepts(request.header("accept"), "text/html"))) return std::nullopt;
  return shell();
}

HttpResponse Dashboard::shell() const {
  if (shell_.empty()) {
    return with_headers({.content_type = "text/plain; charset=utf-8", .body = std::string(kNotBuilt)}, "no-cache");
  }
  return with_headers({.content_type = "text/html; charset=utf-8", .body = shell_}, "no-cache");
}

HttpResponse Dashboard::asset(const DashboardFile& file, const HttpRequest& request) {
  const bool is_zipped = !file.gzip.empty() && accepts(request.header("accept-encoding"), "gzip");
  HttpResponse response{.content_type = std::string(type_of(file.name)),
                        .body = std::string(is_zipped ? file.gzip : file.bytes)};
  response.headers.emplace_back("vary", "accept-encoding");
  if (is_zipped) response.headers.emplace_back("content-encoding", "gzip");
  return with_headers(std::move(response), "public, max-age=31536000, immutable");
}

}  // namespace drover::server
