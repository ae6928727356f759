// Sockets on 127.0.0.1.
#pragma once

#include <netinet/in.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace drover::test {

[[nodiscard]] sockaddr_in loopback(std::uint16_t port);
// A non-blocking listener on a free port, which it tells. Throws std::system_error.
[[nodiscard]] UniqueFd listen_on_loopback(std::uint16_t& port);

// What the system may hold of what a client does not read.
enum class Receives : std::uint8_t { kAsUsual, kLittle };
// Not open when there is no server.
[[nodiscard]] UniqueFd connect_to_loopback(std::uint16_t port, Receives receives = Receives::kAsUsual);

}  // namespace drover::test
