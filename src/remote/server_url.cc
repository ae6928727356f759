#include "remote/server_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"
#include "base/try.h"
#include "net/url.h"

namespace drover {
namespace {

constexpr std::uint16_t kDefaultPort = 7711;
constexpr std::uint16_t kHttpsPort = 443;

// What people put in front of an @ or behind a ? may be a password or a token.
std::unexpected<Error> no_url(std::string_view url) {
  return drover::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} is not the address of a server; use http://HOST:PORT, https://HOST:PORT or unix:PATH",
                  quoted_excerpt(without_credentials(url.substr(0, url.find('?'))))));
}

// HOST[:PORT], [V6][:PORT]
bool read_host(std::string_view text, Endpoint& endpoint) {
  const std::size_t bracket = text.find(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  endpoint.host = host;
  if (host.empty()) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view port = text.substr(colon + 1);
  const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  return error == std::errc{} && stop == port.data() + port.size() && endpoint.port != 0;
}

}  // namespace

Result<ServerAddress> parse_server_url(const std::string& url) {
  ServerAddress address{.endpoint = {.peer = "the server", .url = url}, .host = "drover"};
  std::string_view rest = url;
  if (rest.starts_with("unix:")) {
    address.endpoint.transport = Endpoint::Transport::kUnix;
    address.endpoint.path = rest.substr(5);
    return address.endpoint.path.empty() ? Result<ServerAddress>(no_url(url)) : address;
  }
  if (rest.starts_with("https://")) {
    address.endpoint.transport = Endpoint::Transport::kTls;
    address.endpoint.port = kHttpsPort;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    address.endpoint.port = kDefaultPort;
    rest.remove_prefix(7);
  } else {
    return no_url(url);
  }
  constexpr std::string_view kCa = "?ca=";
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    const auto file =
        rest.substr(mark).starts_with(kCa) ? percent_decode(rest.substr(mark + kCa.size())) : std::nullopt;
    if (!file || address.endpoint.transport != Endpoint::Transport::kTls) return no_url(url);
    address.endpoint.ca_file = *file;
    rest = rest.substr(0, mark);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (!read_host(rest, address.endpoint)) return no_url(url);
  address.host = rest;
  return address;
}

Result<std::vector<ServerAddress>> parse_server_urls(std::string_view urls) {
  std::vector<ServerAddress> addresses;
  for (;;) {
    const std::size_t comma = std::min(urls.find(','), urls.size());
    auto address = TRY(parse_server_url(std::string(urls.substr(0, comma))));
    addresses.push_back(std::move(address));
    if (comma == urls.size()) return addresses;
    urls.remove_prefix(comma + 1);
  }
}

}  // namespace drover
