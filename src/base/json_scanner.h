// The grammar of JSON, one token at a time, without building anything. Beneath base/json, and for readers that
// want the place of a value rather than the value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"

namespace drover::json {

inline constexpr std::size_t kDepthMax = 64;
// For documents that hold whole documents of kDepthMax levels.
inline constexpr std::size_t kEnvelopeDepthMax = kDepthMax + 8;
// Of one object: each key costs more memory than text.
inline constexpr std::size_t kKeysMax = 1'000;
// For documents of our own with a member for each of something.
inline constexpr std::size_t kAnyKeys = SIZE_MAX;

enum class TokenKind : std::uint8_t {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kComma,
  kColon,
  kKey,
  kString,
  kNumber,
  kTrue,
  kFalse,
  kNull,
};

struct Token {
  TokenKind kind = TokenKind::kNull;
  std::string_view raw;      // as it stands in the text, strings with their quotes
  bool has_escapes = false;  // of a key or string
};

// The text that a key or string token stands for.
[[nodiscard]] std::string unescape(const Token& token);

// Refers to the text, which must outlive it. Memory: one small record for each key of the objects that are open, each
// of which has at most keys_max.
class Scanner {
 public:
  explicit Scanner(std::string_view text, std::size_t depth_max = kDepthMax, std::size_t keys_max = kKeysMax)
      : text_(text), depth_max_(depth_max), keys_max_(keys_max) {}

  // Fetches the next token. False at the end of the document and at the first error.
  [[nodiscard]] bool next(Token& token);
  [[nodiscard]] bool failed() const { return problem_.has_value(); }
  // What is wrong, with line and column. Requires failed().
  [[nodiscard]] Error error() const;

 private:
  enum class Expect : std::uint8_t { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd, kNothing };
  enum class Kind : std::uint8_t { kObject, kArray };
  struct Level {
    Kind kind;
    std::size_t first_key;  // in keys_
  };
  struct Key {
    std::string_view text;
    std::size_t offset;
  };
  struct Problem {
    std::size_t offset;
    std::string what;
  };

  bool fail_at(std::size_t offset, std::string what);
  bool unexpected(std::string_view wanted);
  void skip_white_space();
  bool punctuation(Token& token, TokenKind kind, Expect then);
  bool value(Token& token);
  bool key(Token& token);
  bool comma_or_end(Token& token);
  bool open(Token& token, Kind kind);
  bool close(Token& token);
  bool keys_are_distinct(std::size_t first_key);
  void skip_plain();
  bool string(Token& token);
  bool escape();
  bool hex4(std::size_t at, std::uint32_t& unit);
  bool number(Token& token);
  bool digits();
  bool word(Token& token, std::string_view spelling, TokenKind kind);
  void after_value();
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::size_t depth_max_;
  std::size_t keys_max_;
  std::size_t at_ = 0;
  Expect expect_ = Expect::kValue;
  // Enough for small documents, so that most need nothing from the heap.
  std::array<std::byte, 512> first_memory_;
  std::pmr::monotonic_buffer_resource memory_{first_memory_.data(), first_memory_.size()};
  std::pmr::vector<Level> levels_{&memory_};
  std::pmr::vector<Key> keys_{&memory_};  // of all open objects, the innermost last
  std::list<std::string> unescaped_;      // what keys with escapes stand for
  std::optional<Problem> problem_;
};

}  // namespace drover::json
