// Host names to socket addresses, in bounded time.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "drover/error.h"
#include "net/socket.h"

namespace drover {

class SocketAddress {
 public:
  SocketAddress(const sockaddr* address, socklen_t size) : size_(size) { std::memcpy(&storage_, address, size); }
  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_;
};

// In the order in which they are to be tried; at least one.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port,
                                                         const Patience& patience);

}  // namespace drover
