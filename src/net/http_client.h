// Requests to one HTTP server, over connections that are kept for the next one. Safe from any thread: each call has a
// connection to itself.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "net/http.h"
#include "net/socket.h"

namespace drover {

// The operation of an error that says that nothing was sent yet.
inline constexpr std::string_view kConnectOperation = "socket.connect";

class HttpClient {
 public:
  explicit HttpClient(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  // Failures are kStoreUnavailable, and then nobody knows whether the request took effect. `interrupt` ends it early.
  [[nodiscard]] Result<HttpResponse> exchange(const HttpRequest& request, Millis timeout,
                                              const Interrupt* interrupt = nullptr);

 private:
  [[nodiscard]] std::unique_ptr<Socket> take_idle();
  void give_back(std::unique_ptr<Socket> socket);

  const Endpoint endpoint_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Socket>> idle_;
};

}  // namespace drover
