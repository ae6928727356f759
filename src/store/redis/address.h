// Where a Redis is and how to sign in there: the store URLs redis://, rediss:// and redis+unix://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/error.h"
#include "net/socket.h"

namespace drover::redis {

struct Address {
  using Transport = Endpoint::Transport;

  Transport transport = Transport::kTcp;
  std::string host;  // a name or a number; IPv6 without its brackets
  std::uint16_t port = 6379;
  std::string path;      // of the Unix socket
  std::string ca_file;   // TLS: trusted instead of the system's authorities
  std::string user;      // empty: Redis' default user
  std::string password;  // empty: no sign-in
  int db = 0;
  std::string prefix = "ade";  // of every key

  bool operator==(const Address&) const = default;
};

// redis://[[USER]:PASSWORD@]HOST[:PORT][/DB][?prefix=NAME]
// rediss:// the same over TLS, with ?ca=FILE for a private authority
// redis+unix://[[USER]:PASSWORD@]/PATH[?db=N&prefix=NAME]
// User, password, path and values may be percent-encoded. Fails with kInvalidArgument; no error shows the password.
[[nodiscard]] Result<Address> parse_address(std::string_view url);
// The URL without the password.
[[nodiscard]] std::string to_string(const Address& address);

}  // namespace drover::redis
