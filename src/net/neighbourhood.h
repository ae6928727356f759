// Which addresses are one for a limit.
#pragma once

#include <string>
#include <string_view>

namespace drover {

// The address of whoever comes by a Unix socket.
inline constexpr std::string_view kUnixPeer = "unix";
inline constexpr std::string_view kLocalPeers = "local";
// A network of 64 bits for IPv6, kLocalPeers for this machine, else the address.
[[nodiscard]] std::string neighbourhood(std::string_view peer);

}  // namespace drover
