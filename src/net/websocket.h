// WebSocket (RFC 6455) without I/O: bytes in, messages out. No extensions, no subprotocols.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

// Of one message, all its fragments together, that a server takes.
inline constexpr std::size_t kWebSocketBytesMax = 64 * 1024;

// What answers a Sec-WebSocket-Key as Sec-WebSocket-Accept; nothing if the key is not 16 bytes in base64.
[[nodiscard]] std::optional<std::string> websocket_accept(std::string_view key);

// The codes that we send; others may send any that the RFC allows.
enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kUnsupportedData = 1003,
  kInvalidText = 1007,
  kPolicyViolation = 1008,
  kTooLarge = 1009,
  kInternalError = 1011,
  kTryAgainLater = 1013,
};
inline constexpr std::uint16_t kNoCloseCode = 1005;  // a close that has none; never sent

enum class WebSocketKind : std::uint8_t { kText, kBinary, kClose, kPing, kPong };

struct WebSocketMessage {
  WebSocketKind kind = WebSocketKind::kText;
  std::string payload = {};  // of a ping: what its pong has to bring back; of a close: why
  std::uint16_t close_code = kNoCloseCode;

  bool operator==(const WebSocketMessage&) const = default;
};

// Why a connection cannot go on, as the close frame says it that ends it.
struct WebSocketError {
  CloseCode code = CloseCode::kProtocolError;
  std::string_view reason;

  bool operator==(const WebSocketError&) const = default;
};

// Whoever sends: a client masks what it sends, a server does not.
enum class WebSocketPeer : std::uint8_t { kClient, kServer };

// Cuts a byte stream into messages. Holds at most one message and what was fed since it was last asked for one.
class WebSocketReader {
 public:
  explicit WebSocketReader(WebSocketPeer sender, std::size_t bytes_max = kWebSocketBytesMax)
      : sender_(sender), bytes_max_(bytes_max) {}

  void feed(std::string_view bytes);
  // The next whole message, if there is one; text is UTF-8. Pings, pongs and closes come between the fragments of
  // others, as they were sent. Nothing comes after a close; after an error only the same error.
  [[nodiscard]] std::expected<std::optional<WebSocketMessage>, WebSocketError> next();
  // Bytes in memory: of a message that is not whole yet, and of what next() was not asked for.
  [[nodiscard]] std::size_t held() const {
    return input_.size() - used_ + (unfinished_ ? unfinished_->payload.size() : 0);
  }

 private:
  struct Header;
  struct Frame;
  template <class T>
  using Maybe = std::expected<std::optional<T>, WebSocketError>;

  void forget_used();
  [[nodiscard]] Maybe<Frame> take_frame();
  [[nodiscard]] Maybe<Header> read_header() const;
  [[nodiscard]] std::optional<WebSocketError> check_header(const Header& header) const;
  [[nodiscard]] Maybe<WebSocketMessage> take_message(Frame frame);
  [[nodiscard]] Maybe<WebSocketMessage> add_fragment(Frame frame);

  WebSocketPeer sender_;
  std::size_t bytes_max_;
  std::string input_;
  std::size_t used_ = 0;                        // bytes of input_ that were read
  std::optional<WebSocketMessage> unfinished_;  // fragments so far
  std::optional<WebSocketError> error_;
  bool closed_ = false;
};

// One message as one frame of a server.
[[nodiscard]] std::string format_frame(WebSocketKind kind, std::string_view payload);
// The reason is cut to what fits.
[[nodiscard]] std::string format_close(CloseCode code, std::string_view reason);

// As a client sends it.
using WebSocketMask = std::array<std::uint8_t, 4>;
[[nodiscard]] std::string format_frame(WebSocketKind kind, std::string_view payload, WebSocketMask mask);

}  // namespace drover
