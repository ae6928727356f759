// A byte stream to a server whose every wait has an end: a deadline, and an interrupt from another thread.
//
// One thread at a time per socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "drover/error.h"
#include "drover/time.h"

namespace drover {

// Where a server is.
struct Endpoint {
  enum class Transport : std::uint8_t { kTcp, kTls, kUnix };

  Transport transport = Transport::kTcp;
  std::string host;  // a name or a number; IPv6 without its brackets
  std::uint16_t port = 0;
  std::string path;     // of the Unix socket
  std::string ca_file;  // TLS: trusted instead of the system's authorities
  std::string peer;     // what errors call it: "Redis"
  std::string url;      // how people name the place; no password
};

// Ends waits from any thread. Stays raised until cleared. One that is made while the process has no descriptor left is
// never raised: waits then end when their time has passed.
class Interrupt {
 public:
  Interrupt();

  void raise() const;
  void clear() const;
  [[nodiscard]] bool is_raised() const;
  // Until it is raised, or the time has passed.
  void wait(Millis timeout) const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

// How long a call may wait.
struct Patience {
  std::chrono::steady_clock::time_point deadline;
  const Interrupt* interrupt = nullptr;

  [[nodiscard]] static Patience of(Millis time, const Interrupt* interrupt = nullptr) {
    return {std::chrono::steady_clock::now() + time, interrupt};
  }
};

// Every failure is kStoreUnavailable; the socket is of no more use after it.
class Socket {
 public:
  virtual ~Socket() = default;

  [[nodiscard]] virtual Status write_all(std::string_view bytes, const Patience& patience) = 0;
  // At least one byte. That the peer closed is a failure.
  [[nodiscard]] virtual Result<std::size_t> read_some(std::span<char> into, const Patience& patience) = 0;
  // Whether bytes or the peer's end have arrived that nobody has read.
  [[nodiscard]] virtual bool has_input() const = 0;
};

// TCP or Unix, with TLS on top where the address says so.
[[nodiscard]] Result<std::unique_ptr<Socket>> connect_socket(const Endpoint& endpoint, const Patience& patience);
// Speaks TLS 1.2 or later over `transport`, and makes sure that the peer is the host of the endpoint: its certificate
// has to be valid, trusted and for that name. kInvalidArgument when the ca_file cannot be read.
[[nodiscard]] Result<std::unique_ptr<Socket>> connect_tls(std::unique_ptr<Socket> transport, const Endpoint& endpoint,
                                                          const Patience& patience);

}  // namespace drover
