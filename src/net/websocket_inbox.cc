#include "net/websocket_inbox.h"

#include <utility>

namespace drover {

std::expected<std::optional<WebSocketMessage>, WebSocketError> WebSocketInbox::next() {
  for (;;) {
    auto next = reader_.next();
    if (!next || !next->has_value()) return next;
    WebSocketMessage& message = **next;
    if (message.kind == WebSocketKind::kPing) {
      ping_ = std::move(message.payload);
    } else if (message.kind != WebSocketKind::kPong) {
      return next;
    }
  }
}

std::optional<std::string> WebSocketInbox::take_pong() {
  if (!ping_) return std::nullopt;
  return format_frame(WebSocketKind::kPong, *std::exchange(ping_, std::nullopt));
}

}  // namespace drover
