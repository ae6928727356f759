#include "net/http_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "net/http_syntax.h"

namespace drover {
namespace {

constexpr int kTooLarge = 413;
// A byte in a chunk of its own costs five of framing. Whoever sends more than this sends framing, not a body.
constexpr std::size_t kFramingPerByte = 8;
constexpr std::size_t kFramingAlways = 32 * 1024;

std::unexpected<HttpError> refuse(std::string_view why) {
  return std::unexpected(HttpError{.status = 400, .message = fmt::format("chunked body: {}", why)});
}

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

}  // namespace

std::expected<std::size_t, HttpError> ChunkReader::feed(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !is_done()) {
    if (state_ == State::kData) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      take_data(bytes.substr(at, size));
      at += size;
      continue;
    }
    if (++framing_ > kFramingAlways + kFramingPerByte * body_.size()) return refuse("it is mostly framing");
    TRY(take_framing(bytes[at]));
    ++at;
  }
  return at;
}

void ChunkReader::take_data(std::string_view data) {
  body_.append(data);
  left_ -= data.size();
  if (left_ == 0) state_ = State::kDataCr;
}

ChunkReader::Fed ChunkReader::take_framing(char byte) {
  switch (state_) {
    case State::kSize:
      return take_size(byte);
    case State::kExtension:
      return take_extension(byte);
    case State::kSizeLineEnd:
      return end_size_line(byte);
    case State::kDataCr:
      return expect('\r', byte, State::kDataLf);
    case State::kDataLf:
      return expect('\n', byte, State::kSize);
    case State::kTrailerName:
    case State::kTrailerValue:
      return take_trailer(byte);
    case State::kTrailerLineEnd:
      in_line_ = 0;
      return expect('\n', byte, State::kTrailerName);
    case State::kLastLineEnd:
      return expect('\n', byte, State::kEnd);
    case State::kData:
    case State::kEnd:
      break;
  }
  return {};
}

ChunkReader::Fed ChunkReader::expect(char wanted, char byte, State next) {
  if (byte != wanted) return refuse("a line must end in CR LF");
  state_ = next;
  return {};
}

ChunkReader::Fed ChunkReader::take_size(char byte) {
  if (const int digit = hex_digit(byte); digit >= 0) {
    if (++in_line_ > kChunkSizeDigitsMax) return refuse("a size of more than 16 digits");
    size_ = size_ << 4U | static_cast<unsigned>(digit);
    return {};
  }
  if (in_line_ == 0) return refuse("a size is missing");
  if (byte != ';' && byte != '\r') return refuse("a size must be hexadecimal");
  in_line_ = 0;
  state_ = byte == ';' ? State::kExtension : State::kSizeLineEnd;
  return {};
}

ChunkReader::Fed ChunkReader::take_extension(char byte) {
  if (byte == '\r') {
    state_ = State::kSizeLineEnd;
    return {};
  }
  if (!is_text(byte)) return refuse("a control character in an extension");
  if (++in_line_ > kChunkExtensionBytesMax) {
    return refuse(fmt::format("an extension of more than {} bytes", kChunkExtensionBytesMax));
  }
  return {};
}

ChunkReader::Fed ChunkReader::end_size_line(char byte) {
  if (size_ > body_bytes_max_ - body_.size()) {
    return std::unexpected(HttpError{kTooLarge, fmt::format("the body has more than {} bytes", body_bytes_max_)});
  }
  in_line_ = 0;
  left_ = std::exchange(size_, 0);
  return expect('\n', byte, left_ > 0 ? State::kData : State::kTrailerName);
}

// Its fields are checked and dropped: nobody here asks for them.
ChunkReader::Fed ChunkReader::take_trailer(char byte) {
  if (++trailer_ > kTrailerBytesMax) return refuse(fmt::format("a trailer of more than {} bytes", kTrailerBytesMax));
  if (state_ == State::kTrailerValue) {
    if (byte == '\r') {
      state_ = State::kTrailerLineEnd;
      return {};
    }
    return is_text(byte) ? Fed{} : refuse("a control character in the trailer");
  }
  if (byte == '\r' && in_line_ == 0) {
    state_ = State::kLastLineEnd;
    return {};
  }
  if (byte == ':' && in_line_ > 0) {
    state_ = State::kTrailerValue;
    return {};
  }
  ++in_line_;
  return is_token(byte) ? Fed{} : refuse("a line of the trailer is not NAME: VALUE");
}

}  // namespace drover
