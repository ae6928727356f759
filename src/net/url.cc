#include "net/url.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

#include "base/text.h"

namespace drover {
namespace {

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::unexpected<Error> malformed(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not well formed", quoted_excerpt(text)));
}

std::string with_spaces(std::string_view text) {
  std::string spaced(text);
  for (char& c : spaced) {
    if (c == '+') c = ' ';
  }
  return spaced;
}

// Calls `part` with each piece between separators.
template <class Part>
bool split(std::string_view text, char separator, Part part) {
  for (;;) {
    const std::size_t end = text.find(separator);
    if (!part(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (!is_utf8(decoded)) return std::nullopt;
  return decoded;
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", byte);
    }
  }
  return encoded;
}

Result<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/')) return malformed(text);
  Target target;
  const std::size_t mark = text.find('?');
  const bool path_is_good =
      split(text.substr(1, mark == std::string_view::npos ? mark : mark - 1), '/', [&](auto part) {
        auto decoded = percent_decode(part);
        if (!decoded) return false;
        target.path.push_back(*std::move(decoded));
        return true;
      });
  if (!path_is_good) return malformed(text);
  if (mark == std::string_view::npos || mark + 1 == text.size()) return target;
  const bool query_is_good = split(text.substr(mark + 1), '&', [&](std::string_view part) {
    const std::size_t equals = part.find('=');
    auto name = percent_decode(with_spaces(part.substr(0, equals)));
    auto value = percent_decode(with_spaces(equals == std::string_view::npos ? "" : part.substr(equals + 1)));
    if (!name || !value) return false;
    target.query.emplace_back(*std::move(name), *std::move(value));
    return true;
  });
  if (!query_is_good) return malformed(text);
  return target;
}

std::string without_credentials(std::string_view url) {
  const std::size_t host = url.find("//");
  const std::size_t at = url.rfind('@');
  if (host == std::string_view::npos || at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host + 2)).append(url.substr(at + 1));
}

}  // namespace drover
