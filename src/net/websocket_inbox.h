// What a server keeps of what the client of a WebSocket says, however fast it comes and whether or not the client
// reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/websocket.h"

namespace drover {

// Messages come out one by one. Of pings only the latest waits for its answer (RFC 6455, section 5.5.3): a client that
// sends them without end gets one answer for as many as came before it was read.
class WebSocketInbox {
 public:
  explicit WebSocketInbox(std::size_t bytes_max) : reader_(WebSocketPeer::kClient, bytes_max) {}

  void feed(std::string_view bytes) { reader_.feed(bytes); }
  // As WebSocketReader::next(), without pings and pongs.
  [[nodiscard]] std::expected<std::optional<WebSocketMessage>, WebSocketError> next();
  // The frame that answers the latest ping, once.
  [[nodiscard]] std::optional<std::string> take_pong();
  [[nodiscard]] std::size_t held() const { return reader_.held() + (ping_ ? ping_->size() : 0); }

 private:
  WebSocketReader reader_;
  std::optional<std::string> ping_;
};

}  // namespace drover
