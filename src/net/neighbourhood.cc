#include "net/neighbourhood.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace drover {

std::string neighbourhood(std::string_view peer) {
  const std::string text(peer);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return text.starts_with("127.") ? std::string(kLocalPeers) : text;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::string(kLocalPeers);  // a Unix socket
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return std::string(kLocalPeers);
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return neighbourhood(text.substr(text.rfind(':') + 1));
  constexpr std::size_t kNetworkBytes = 8;
  std::fill(std::begin(v6.s6_addr) + kNetworkBytes, std::end(v6.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> network{};
  return ::inet_ntop(AF_INET6, &v6, network.data(), network.size());
}

}  // namespace drover
