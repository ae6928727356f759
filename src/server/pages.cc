#include "server/pages.h"

#include <algorithm>
#include <array>

#include "server/access.h"

namespace drover::server {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(part);
}

// "q=0", "q=0.000".
bool is_zero_weight(std::string_view parameter) {
  std::string_view value = parameter;
  if (to_lower(take_until(value, '=')) != "q") return false;
  return !value.empty() && trimmed(value).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool is_reserved(std::string_view first_part) {
  constexpr std::array<std::string_view, 7> kReserved{"v1",     "assets",       "metrics", "healthz",
                                                      "readyz", "openapi.json", "mcp"};
  return std::ranges::find(kReserved, first_part) != kReserved.end();
}

bool is_page(const Target& target) {
  return target.path.empty() || !is_reserved(target.path.front());
}

bool accepts(std::string_view list, std::string_view what) {
  while (!list.empty()) {
    std::string_view item = take_until(list, ',');
    if (to_lower(take_until(item, ';')) != what) continue;
    bool is_refused = false;
    while (!item.empty()) is_refused = is_zero_weight(take_until(item, ';')) || is_refused;
    return !is_refused;
  }
  return false;
}

bool is_visit(const HttpRequest& request) {
  if (request.method != "GET" || !request.body.empty() || !accepts(request.header("accept"), "text/html")) return false;
  if (request.header("sec-fetch-mode") != "navigate" || request.header("sec-fetch-dest") != "document") return false;
  const auto target = parse_target(request.target);
  return target && is_page(*target);
}

}  // namespace drover::server
