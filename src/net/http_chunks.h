// A body in chunks (RFC 9112, section 7.1) without I/O: the bytes of the framing are read and dropped, never kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "net/http_error.h"

namespace drover {

inline constexpr std::size_t kChunkSizeDigitsMax = 16;
inline constexpr std::size_t kChunkExtensionBytesMax = 256;
inline constexpr std::size_t kTrailerBytesMax = 16 * 1024;

// Holds the body and nothing else. Limits: body_bytes_max and those above; and chunks that are mostly framing.
class ChunkReader {
 public:
  explicit ChunkReader(std::size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  // Returns how many bytes, from the front, belong to this body. After an error it cannot go on.
  [[nodiscard]] std::expected<std::size_t, HttpError> feed(std::string_view bytes);
  [[nodiscard]] bool is_done() const { return state_ == State::kEnd; }
  [[nodiscard]] std::size_t held() const { return body_.size(); }
  [[nodiscard]] std::string take() { return std::move(body_); }

 private:
  enum class State : std::uint8_t {
    kSize,
    kExtension,
    kSizeLineEnd,  // the LF of a size line
    kData,
    kDataCr,
    kDataLf,
    kTrailerName,  // at the start of a line, or within a name
    kTrailerValue,
    kTrailerLineEnd,
    kLastLineEnd,
    kEnd,
  };
  using Fed = std::expected<void, HttpError>;

  [[nodiscard]] Fed take_framing(char byte);
  [[nodiscard]] Fed take_size(char byte);
  [[nodiscard]] Fed take_extension(char byte);
  [[nodiscard]] Fed take_trailer(char byte);
  [[nodiscard]] Fed end_size_line(char byte);
  [[nodiscard]] Fed expect(char wanted, char byte, State next);
  void take_data(std::string_view data);

  std::size_t body_bytes_max_;
  std::string body_;
  State state_ = State::kSize;
  std::uint64_t size_ = 0;   // of the chunk
  std::uint64_t left_ = 0;   // of its data
  std::size_t in_line_ = 0;  // bytes of this size, extension or trailer line
  std::size_t trailer_ = 0;  // bytes of the trailer
  std::size_t framing_ = 0;  // bytes that are not the body's
};

}  // namespace drover
