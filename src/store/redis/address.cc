#include "store/redis/address.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/try.h"

namespace drover::redis {
namespace {

using Transport = Address::Transport;

constexpr int kDbMax = 1'000'000;  // what Redis has is up to its configuration

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

template <class Integer>
std::optional<Integer> parse_number(std::string_view text, Integer min, Integer max) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) return std::nullopt;
  return value;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    if (text.front() != '%') {
      decoded += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    if (text.size() < 3) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    if (error != std::errc() || end != text.data() + 3) return std::nullopt;
    decoded += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = is_name(std::string_view(&c, 1)) || c == '/' || c == '~';
    if (plain && c != ':' && c != '@') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

// SCHEME://[USERINFO@]AUTHORITY[PATH][?QUERY]
struct Parts {
  Transport transport = Transport::kTcp;
  std::optional<std::string_view> userinfo;
  std::string_view host_and_port;
  std::string_view path;
  std::string_view query;
};

Result<Transport> parse_scheme(std::string_view scheme) {
  if (scheme == "redis") return Transport::kTcp;
  if (scheme == "rediss") return Transport::kTls;
  if (scheme == "redis+unix") return Transport::kUnix;
  if (scheme == "redis+sentinel" || scheme == "redis+cluster") {
    return invalid(
        fmt::format("{}:// is not supported yet by this version: name one server with redis://HOST:PORT", scheme));
  }
  return invalid("a Redis URL begins with redis://, rediss:// or redis+unix://");
}

Result<Parts> split(std::string_view url) {
  const std::size_t colon = url.find("://");
  const auto transport = TRY(parse_scheme(url.substr(0, colon)));
  if (colon == std::string_view::npos) return invalid("a Redis URL is written redis://HOST:PORT/DB");
  Parts parts{.transport = transport};
  std::string_view rest = url.substr(colon + 3);
  const std::size_t authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  parts.host_and_port = authority;
  parts.path = rest.substr(0, rest.find('?'));
  if (parts.path.size() < rest.size()) parts.query = rest.substr(parts.path.size() + 1);
  if (!parts.userinfo && parts.path.contains('@')) {
    return invalid("in the user and the password of a Redis URL write / as %2F, ? as %3F, # as %23 and % as %25");
  }
  return parts;
}

Status read_userinfo(std::string_view userinfo, Address& address) {
  const std::size_t colon = userinfo.find(':');
  if (colon == std::string_view::npos) {
    return invalid("a Redis URL with a user needs a password too: redis://USER:PASSWORD@HOST");
  }
  const auto user = percent_decoded(userinfo.substr(0, colon));
  const auto password = percent_decoded(userinfo.substr(colon + 1));
  if (!user || !password) return invalid("in the user and the password of a Redis URL write % as %25");
  if (password->empty()) return invalid("the password in the Redis URL is empty; leave USER:PASSWORD@ out instead");
  address.user = *user;
  address.password = *password;
  return {};
}

Status read_host(std::string_view text, Address& address) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return invalid("the IPv6 address in the Redis URL lacks its ]");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (host.empty()) return invalid("the Redis URL names no host: redis://HOST:PORT");
  address.host = host;
  if (port.empty()) return {};
  const auto number = port.starts_with(':') ? parse_number<std::uint16_t>(port.substr(1), 1, 65535) : std::nullopt;
  if (!number) return invalid("the port in the Redis URL must be a number from 1 to 65535; IPv6 hosts stand in [ ]");
  address.port = *number;
  return {};
}

Status read_db(std::string_view text, Address& address) {
  const auto db = parse_number(text, 0, kDbMax);
  if (!db) return invalid("the database in the Redis URL must be a number, as in redis://HOST:PORT/0");
  address.db = *db;
  return {};
}

Status read_option(std::string_view option, Address& address) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const auto value = equals == std::string_view::npos ? std::nullopt : percent_decoded(option.substr(equals + 1));
  if (!value) return invalid("options of a Redis URL are written ?NAME=VALUE&NAME=VALUE, with % as %25");
  if (name == "prefix") {
    if (!is_name(*value)) {
      return invalid("the prefix in the Redis URL must be 1 to 128 of the characters A-Z a-z 0-9 _ . : @ -");
    }
    address.prefix = *value;
    return {};
  }
  if (name == "ca" && address.transport == Transport::kTls) {
    if (value->empty()) return invalid("ca= in the Redis URL names no file");
    address.ca_file = *value;
    return {};
  }
  if (name == "db" && address.transport == Transport::kUnix) return read_db(*value, address);
  return invalid(
      "an unknown option in the Redis URL; known are prefix, ca (rediss:// only) and db (redis+unix:// only)");
}

Status read_options(std::string_view query, Address& address) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    TRY(read_option(query.substr(0, end), address));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

Status read_unix_path(const Parts& parts, Address& address) {
  if (!parts.host_and_port.empty() || parts.path.size() < 2) {
    return invalid("a Unix socket is written redis+unix:///PATH, with three slashes");
  }
  auto path = percent_decoded(parts.path);
  if (!path || path->contains('\0')) return invalid("in the path of a Redis URL write % as %25");
  address.path = *std::move(path);
  return {};
}

Status read_network_address(const Parts& parts, Address& address) {
  TRY(read_host(parts.host_and_port, address));
  if (parts.path.size() <= 1) return {};
  return read_db(parts.path.substr(1), address);
}

}  // namespace

Result<Address> parse_address(std::string_view url) {
  const auto parts = TRY(split(url));
  Address address{.transport = parts.transport};
  Status read;
  if (const std::optional<std::string_view> userinfo = parts.userinfo) read = read_userinfo(*userinfo, address);
  if (read) {
    read =
        address.transport == Transport::kUnix ? read_unix_path(parts, address) : read_network_address(parts, address);
  }
  if (read) read = read_options(parts.query, address);
  if (!read) return std::unexpected(read.error());
  return address;
}

std::string to_string(const Address& address) {
  const std::string user = address.user.empty() ? "" : percent_encoded(address.user) + "@";
  if (address.transport == Transport::kUnix) {
    return fmt::format("redis+unix://{}{}?db={}&prefix={}", user, percent_encoded(address.path), address.db,
                       address.prefix);
  }
  const bool is_ipv6 = address.host.contains(':');
  return fmt::format("{}://{}{}{}{}:{}/{}?prefix={}", address.transport == Transport::kTls ? "rediss" : "redis", user,
                     is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "", address.port, address.db, address.prefix);
}

}  // namespace drover::redis
