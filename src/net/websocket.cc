#include "net/websocket.h"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {

namespace {

constexpr std::size_t kControlBytesMax = 125;
constexpr std::uint8_t kFinalBit = 0x80;
constexpr std::uint8_t kReservedBits = 0x70;
constexpr std::uint8_t kOpcodeBits = 0x0f;
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kLengthBits = 0x7f;
constexpr std::uint8_t kLengthIn2 = 126;  // the length follows in 2 bytes, in 8
constexpr std::uint8_t kLengthIn8 = 127;
constexpr std::size_t kMaskBytes = 4;

enum class Opcode : std::uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

std::unexpected<WebSocketError> refuse(std::string_view reason, CloseCode code = CloseCode::kProtocolError) {
  return std::unexpected(WebSocketError{code, reason});
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

void put_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

void apply_mask(std::string& payload, std::string_view mask) {
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<char>(payload[i] ^ mask[i % kMaskBytes]);
  }
}

Opcode opcode_of(WebSocketKind kind) {
  switch (kind) {
    case WebSocketKind::kText:
      return Opcode::kText;
    case WebSocketKind::kBinary:
      return Opcode::kBinary;
    case WebSocketKind::kClose:
      return Opcode::kClose;
    case WebSocketKind::kPing:
      return Opcode::kPing;
    case WebSocketKind::kPong:
      return Opcode::kPong;
  }
  return Opcode::kText;
}

bool is_control(std::uint8_t opcode) {
  return opcode >= 8;
}

bool is_known(std::uint8_t opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

// RFC 6455 section 7.4, and the codes that were registered since.
bool may_be_sent(std::uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

std::expected<WebSocketMessage, WebSocketError> read_close(std::string_view payload) {
  WebSocketMessage close{.kind = WebSocketKind::kClose};
  if (payload.empty()) return close;
  if (payload.size() == 1) return refuse("a close with half a code");
  close.close_code = static_cast<std::uint16_t>(read_big_endian(payload.substr(0, 2)));
  if (!may_be_sent(close.close_code)) return refuse("a close with a code that is not sent");
  close.payload = payload.substr(2);
  if (!is_utf8(close.payload)) return refuse("a reason that is not UTF-8", CloseCode::kInvalidText);
  return close;
}

std::expected<WebSocketMessage, WebSocketError> checked_text(WebSocketMessage message) {
  if (message.kind == WebSocketKind::kText && !is_utf8(message.payload))
    return refuse("text that is not UTF-8", CloseCode::kInvalidText);
  return message;
}

std::string header_of(WebSocketKind kind, std::size_t length, std::uint8_t mask_bit) {
  std::string out;
  out.push_back(static_cast<char>(kFinalBit | static_cast<std::uint8_t>(opcode_of(kind))));
  if (length < kLengthIn2) {
    out.push_back(static_cast<char>(mask_bit | length));
  } else if (length <= std::numeric_limits<std::uint16_t>::max()) {
    out.push_back(static_cast<char>(mask_bit | kLengthIn2));
    put_big_endian(out, length, 2);
  } else {
    out.push_back(static_cast<char>(mask_bit | kLengthIn8));
    put_big_endian(out, length, 8);
  }
  return out;
}

bool is_control(WebSocketKind kind) {
  return is_control(static_cast<std::uint8_t>(opcode_of(kind)));
}

}  // namespace

struct WebSocketReader::Header {
  bool final = false;
  std::uint8_t opcode = 0;
  bool masked = false;
  std::uint64_t length = 0;
  std::size_t bytes = 0;  // of the header itself, with its mask
};

struct WebSocketReader::Frame {
  bool final = false;
  Opcode opcode = Opcode::kText;
  std::string payload = {};
};

void WebSocketReader::feed(std::string_view bytes) {
  if (closed_ || error_) return;
  forget_used();
  input_.append(bytes);
}

// Most connections are idle most of the time, and then hold no memory.
void WebSocketReader::forget_used() {
  input_.erase(0, used_);
  used_ = 0;
  if (input_.empty()) input_ = {};
}

std::expected<std::optional<WebSocketMessage>, WebSocketError> WebSocketReader::next() {
  while (!closed_ && !error_) {
    auto taken = take_frame();
    if (!taken) {
      error_ = taken.error();
      break;
    }
    std::optional<Frame>& frame = *taken;
    if (!frame) break;
    auto message = take_message(*std::move(frame));
    if (message && message->has_value()) return message;
    if (!message) error_ = message.error();
  }
  if (closed_ || error_) used_ = input_.size();  // nothing more comes of it
  forget_used();
  if (error_) return std::unexpected(*error_);
  return std::nullopt;
}

// Nothing if the header is not whole yet. What is here is judged even then: nobody has to wait for a bad one's rest.
WebSocketReader::Maybe<WebSocketReader::Header> WebSocketReader::read_header() const {
  const std::string_view input = std::string_view(input_).substr(used_);
  if (input.size() < 2) return std::nullopt;
  const std::uint8_t first = byte_at(input, 0);
  const std::uint8_t second = byte_at(input, 1);
  if ((first & kReservedBits) != 0) return refuse("reserved bits are set");
  const std::uint8_t short_length = second & kLengthBits;
  const std::size_t length_bytes = short_length == kLengthIn2 ? 2 : short_length == kLengthIn8 ? 8 : 0;
  Header header{.final = (first & kFinalBit) != 0,
                .opcode = static_cast<std::uint8_t>(first & kOpcodeBits),
                .masked = (second & kMaskBit) != 0,
                .length = short_length};
  header.bytes = 2 + length_bytes + (header.masked ? kMaskBytes : 0);
  if (const auto error = check_header(header)) return std::unexpected(*error);
  if (input.size() < 2 + length_bytes) return std::nullopt;
  if (length_bytes != 0) header.length = read_big_endian(input.substr(2, length_bytes));
  if (length_bytes == 2 && header.length < kLengthIn2) return refuse("a length in more bytes than it needs");
  if (length_bytes == 8 && header.length <= std::numeric_limits<std::uint16_t>::max())
    return refuse("a length in more bytes than it needs");
  if (header.length >> 63 != 0) return refuse("a length beyond 63 bits");
  const std::size_t before = is_control(header.opcode) || !unfinished_ ? 0 : unfinished_->payload.size();
  if (header.length > bytes_max_ - before) return refuse("the message is too long", CloseCode::kTooLarge);
  if (input.size() < header.bytes) return std::nullopt;
  return header;
}

std::optional<WebSocketError> WebSocketReader::check_header(const Header& header) const {
  const auto wrong = [](std::string_view reason) { return WebSocketError{CloseCode::kProtocolError, reason}; };
  if (header.masked != (sender_ == WebSocketPeer::kClient))
    return wrong(header.masked ? "a server masks nothing" : "a client masks what it sends");
  if (!is_known(header.opcode)) return wrong("an unknown opcode");
  if (is_control(header.opcode)) {
    if (!header.final) return wrong("a control frame in fragments");
    if (header.length > kControlBytesMax) return wrong("a control frame of more than 125 bytes");
    return std::nullopt;
  }
  const bool continues = header.opcode == static_cast<std::uint8_t>(Opcode::kContinuation);
  if (continues != unfinished_.has_value())
    return wrong(continues ? "a fragment of nothing" : "a message within another");
  return std::nullopt;
}

WebSocketReader::Maybe<WebSocketReader::Frame> WebSocketReader::take_frame() {
  const std::optional<Header> header = TRY(read_header());
  if (!header || input_.size() - used_ < header->bytes + header->length) return std::nullopt;
  const std::string_view input = std::string_view(input_).substr(used_);
  Frame frame{.final = header->final, .opcode = static_cast<Opcode>(header->opcode)};
  frame.payload = input.substr(header->bytes, header->length);
  if (header->masked) apply_mask(frame.payload, input.substr(header->bytes - kMaskBytes, kMaskBytes));
  used_ += header->bytes + header->length;
  return frame;
}

WebSocketReader::Maybe<WebSocketMessage> WebSocketReader::take_message(Frame frame) {
  switch (frame.opcode) {
    case Opcode::kContinuation:
      return add_fragment(std::move(frame));
    case Opcode::kText:
    case Opcode::kBinary:
      unfinished_ =
          WebSocketMessage{.kind = frame.opcode == Opcode::kText ? WebSocketKind::kText : WebSocketKind::kBinary};
      return add_fragment(std::move(frame));
    case Opcode::kClose:
      closed_ = true;
      return read_close(frame.payload);
    case Opcode::kPing:
      return WebSocketMessage{.kind = WebSocketKind::kPing, .payload = std::move(frame.payload)};
    case Opcode::kPong:
      return WebSocketMessage{.kind = WebSocketKind::kPong, .payload = std::move(frame.payload)};
  }
  return refuse("an unknown opcode");
}

WebSocketReader::Maybe<WebSocketMessage> WebSocketReader::add_fragment(Frame frame) {
  CHECK(unfinished_.has_value());
  unfinished_->payload += frame.payload;
  if (!frame.final) return std::nullopt;
  WebSocketMessage whole = *std::move(unfinished_);
  unfinished_.reset();
  return checked_text(std::move(whole));
}

// ---- sending

std::string format_frame(WebSocketKind kind, std::string_view payload) {
  CHECK(!is_control(kind) || payload.size() <= kControlBytesMax);
  return header_of(kind, payload.size(), 0).append(payload);
}

std::string format_frame(WebSocketKind kind, std::string_view payload, WebSocketMask mask) {
  CHECK(!is_control(kind) || payload.size() <= kControlBytesMax);
  const std::string mask_text(mask.begin(), mask.end());
  std::string masked(payload);
  apply_mask(masked, mask_text);
  return header_of(kind, payload.size(), kMaskBit).append(mask_text).append(masked);
}

std::string format_close(CloseCode code, std::string_view reason) {
  std::string payload;
  put_big_endian(payload, static_cast<std::uint16_t>(code), 2);
  // Whole characters only.
  while (!reason.empty()) {
    const Utf8Step step = utf8_step(reason);
    if (!step.valid || payload.size() + step.bytes > kControlBytesMax) break;
    payload.append(reason.substr(0, step.bytes));
    reason.remove_prefix(step.bytes);
  }
  return format_frame(WebSocketKind::kClose, payload);
}

// ---- the handshake

std::optional<std::string> websocket_accept(std::string_view key) {
  constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kKeyDigits = 22;  // of 16 bytes
  if (key.size() != kKeyDigits + 2 || !key.ends_with("==")) return std::nullopt;
  if (key.substr(0, kKeyDigits).find_first_not_of(kBase64) != std::string_view::npos) return std::nullopt;
  const std::string text = std::string(key).append(kGuid);
  std::array<unsigned char, 20> digest{};
  unsigned int size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  CHECK(size == digest.size());
  std::array<unsigned char, 29> encoded{};  // 28 digits and a zero byte
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  CHECK(length == 28);
  return std::string(encoded.begin(), encoded.begin() + length);
}

}  // namespace drover
