// Whoever watches a server: one connection, read frame by frame.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "net/socket.h"
#include "net/websocket.h"
#include "support/must.h"

namespace drover::server {

inline constexpr Millis kViewerHangs{20'000};
inline constexpr WebSocketMask kViewerMask{1, 2, 3, 4};

class Viewer {
 public:
  static Viewer of_socket(const Endpoint& endpoint, const std::string& query, const std::string& headers) {
    return {endpoint, fmt::format("GET /v1/ws{} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{}\r\n",
                                  query, headers)};
  }
  static Viewer of_stream(const Endpoint& endpoint, const std::string& query, const std::string& headers) {
    return {endpoint, fmt::format("GET /v1/events{} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                                  "{}\r\n",
                                  query, headers)};
  }

  Viewer(const Endpoint& endpoint, const std::string& request)
      : socket_(test::must(connect_socket(endpoint, Patience::of(kViewerHangs)))) {
    test::must(socket_->write_all(request, Patience::of(kViewerHangs)));
    while (input_.find("\r\n\r\n") == std::string::npos && more()) {
    }
    const std::size_t end = input_.find("\r\n\r\n") + 4;
    head_ = input_.substr(0, end);
    input_.erase(0, end);
    is_socket_ = head_.starts_with("HTTP/1.1 101");
    if (is_socket_) frames_.feed(std::exchange(input_, {}));
  }

  [[nodiscard]] const std::string& head() const { return head_; }
  void say(std::string_view text) {
    test::must(socket_->write_all(format_frame(WebSocketKind::kText, text, kViewerMask), Patience::of(kViewerHangs)));
  }
  // The next frame; null when there will be none.
  json::Value next() { return is_socket_ ? next_message() : next_event(); }
  // The next one of that kind, past others.
  json::Value next(std::string_view kind) {
    for (;;) {
      json::Value frame = next();
      if (frame.is_null() || *frame.find("kind")->as_string() == kind) return frame;
    }
  }
  [[nodiscard]] std::uint16_t close_code() const { return close_code_; }
  [[nodiscard]] const std::string& last_id() const { return last_id_; }

 private:
  bool more() {
    std::array<char, 65'536> buffer;
    const auto size = socket_->read_some(buffer, Patience::of(kViewerHangs));
    if (size) input_.append(buffer.data(), *size);
    return size.has_value();
  }
  json::Value next_message() {
    for (;;) {
      const auto next = frames_.next();
      EXPECT_TRUE(next.has_value());
      if (!next) return {};
      const std::optional<WebSocketMessage>& message = *next;
      if (!message) {
        if (!more()) return {};
        frames_.feed(std::exchange(input_, {}));
        continue;
      }
      if (message->kind == WebSocketKind::kText) return test::must(json::parse(message->payload));
      if (message->kind != WebSocketKind::kClose) continue;
      close_code_ = message->close_code;
      return {};
    }
  }
  json::Value next_event() {
    for (;;) {
      std::size_t end = 0;
      while ((end = input_.find("\n\n")) == std::string::npos) {
        if (!more()) return {};
      }
      const std::string block = input_.substr(0, end);
      input_.erase(0, end + 2);
      if (const std::size_t id = block.find("id: "); id != std::string::npos) {
        last_id_ = block.substr(id + 4, block.find('\n', id) - id - 4);
      }
      if (const std::size_t data = block.find("data: "); data != std::string::npos) {
        return test::must(json::parse(block.substr(data + 6)));
      }
    }
  }

  std::unique_ptr<Socket> socket_;
  std::string input_;
  std::string head_;
  bool is_socket_ = false;
  WebSocketReader frames_{WebSocketPeer::kServer, std::size_t{1} << 20U};
  std::uint16_t close_code_ = 0;
  std::string last_id_;
};

inline std::int64_t number(const json::Value& frame, std::string_view key) {
  return frame.find(key)->as_int().value();
}
inline std::string text(const json::Value& object, std::string_view key) {
  return *object.find(key)->as_string();
}

inline std::string bearer(const std::string& token) {
  return token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token);
}

}  // namespace drover::server
