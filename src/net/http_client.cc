#include "net/http_client.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/try.h"

namespace drover {
namespace {

constexpr std::size_t kIdleMax = 16;

Result<HttpResponse> receive(Socket& socket, const Patience& patience) {
  HttpResponseReader reader;
  std::array<char, 64 * 1024> buffer;
  while (!reader.is_whole()) {
    const auto size = TRY(socket.read_some(buffer, patience));
    if (const auto fed = reader.feed({buffer.data(), size}); !fed) {
      return fail(ErrorCode::kStoreUnavailable, fmt::format("the answer is not HTTP: {}", fed.error().message),
                  "http.read");
    }
  }
  return reader.take();
}

}  // namespace

std::unique_ptr<Socket> HttpClient::take_idle() {
  const std::scoped_lock lock(mutex_);
  while (!idle_.empty()) {
    std::unique_ptr<Socket> socket = std::move(idle_.back());
    idle_.pop_back();
    // Between two requests the server says nothing: if it did, it has closed the connection.
    if (!socket->has_input()) return socket;
  }
  return nullptr;
}

void HttpClient::give_back(std::unique_ptr<Socket> socket) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(socket));
}

Result<HttpResponse> HttpClient::exchange(const HttpRequest& request, Millis timeout, const Interrupt* interrupt) {
  const Patience patience = Patience::of(timeout, interrupt);
  std::unique_ptr<Socket> socket = take_idle();
  if (socket == nullptr) {
    socket = TRY(connect_socket(endpoint_, patience));
  }
  TRY(socket->write_all(format_request(request), patience));
  auto response = receive(*socket, patience);
  if (response && response->keep_alive) give_back(std::move(socket));
  return response;
}

}  // namespace drover
