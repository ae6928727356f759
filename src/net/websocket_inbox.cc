#include "net/websocket_inbox.h"

#include <utility>

namespace drover {

std::expected<std::optional<WebSocketMessage>, WebSocketError> WebSocketInbox::next() {
  for (;;) {
    auto next = reader_.next();
    if (!next) return next;
    std::optional<WebSocketMessage>& message = *next;
    if (!message) return next;
    if (message->kind == WebSocketKind::kPing) {
      ping_ = std::move(message->payload);
    } else if (message->kind != WebSocketKind::kPong) {
      return next;
    }
  }
}

std::optional<std::string> WebSocketInbox::take_pong() {
  if (!ping_) return std::nullopt;
  std::string pong = format_frame(WebSocketKind::kPong, *ping_);
  ping_.reset();
  return pong;
}

}  // namespace drover
