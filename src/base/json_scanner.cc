#include "base/json_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace drover::json {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_white_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
constexpr bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
constexpr bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// What may stand in a string as it is, one byte at a time.
constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// Whether all eight bytes are plain. True is certain; false may be wrong, and a look at each tells.
bool are_plain(const char* bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101U;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  // The highest bit of each byte of these tells: no ASCII, below a blank, a quote, a backslash.
  const std::uint64_t below = word - kEach * 0x20;
  const std::uint64_t quote = (word ^ kEach * '"') - kEach;
  const std::uint64_t backslash = (word ^ kEach * '\\') - kEach;
  return ((word | below | quote | backslash) & kEach * 0x80) == 0;
}

// The value of a hex digit, or 16.
constexpr std::uint32_t hex_value(char c) {
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return 16;
}

void append_code_point(std::string& out, std::uint32_t c) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// Requires four hex digits, which the scanner has checked.
std::uint32_t take_hex4(std::string_view& text) {
  std::uint32_t unit = 0;
  for (const char c : text.substr(0, 4)) unit = unit * 16 + hex_value(c);
  text.remove_prefix(4);
  return unit;
}

// Requires what follows a backslash, checked by the scanner; takes it off the text.
void append_escape(std::string& out, std::string_view& text) {
  const char c = text.front();
  text.remove_prefix(1);
  switch (c) {
    case 'b':
      return out.push_back('\b');
    case 'f':
      return out.push_back('\f');
    case 'n':
      return out.push_back('\n');
    case 'r':
      return out.push_back('\r');
    case 't':
      return out.push_back('\t');
    case 'u':
      break;
    default:
      return out.push_back(c);
  }
  std::uint32_t code_point = take_hex4(text);
  if (is_high_surrogate(code_point)) {
    text.remove_prefix(2);
    code_point = 0x10000 + ((code_point - 0xD800) << 10) + (take_hex4(text) - 0xDC00);
  }
  append_code_point(out, code_point);
}

}  // namespace

std::string unescape(const Token& token) {
  std::string_view rest = token.raw.substr(1, token.raw.size() - 2);
  if (!token.has_escapes) return std::string(rest);
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out.append(rest.substr(0, plain));
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    append_escape(out, rest);
  }
  return out;
}

bool Scanner::next(Token& token) {
  if (failed()) return false;
  skip_white_space();
  token.has_escapes = false;
  switch (expect_) {
    case Expect::kValue:
      return value(token);
    case Expect::kValueOrEnd:
      return peek() == ']' ? close(token) : value(token);
    case Expect::kKey:
      return key(token);
    case Expect::kKeyOrEnd:
      return peek() == '}' ? close(token) : key(token);
    case Expect::kColon:
      if (peek() != ':') return unexpected("':'");
      return punctuation(token, TokenKind::kColon, Expect::kValue);
    case Expect::kCommaOrEnd:
      return comma_or_end(token);
    case Expect::kNothing:
      return at_ == text_.size() ? false : unexpected("nothing after the value");
  }
  CHECK(false);
}

Error Scanner::error() const {
  CHECK(problem_.has_value());
  const std::string_view before = text_.substr(0, problem_->offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  // Characters, not bytes: every byte that does not continue one.
  const auto column = std::ranges::count_if(before.substr(line_start),
                                            [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }) +
                      1;
  return Error{ErrorCode::kInvalidJson, fmt::format("line {}, column {}: {}", line, column, problem_->what), {}};
}

bool Scanner::fail_at(std::size_t offset, std::string what) {
  problem_ = Problem{offset, std::move(what)};
  return false;
}

bool Scanner::unexpected(std::string_view wanted) {
  if (at_ == text_.size()) return fail_at(at_, fmt::format("expected {}, found the end of the text", wanted));
  if (at_ == 0 && text_.starts_with("\xEF\xBB\xBF")) return fail_at(0, "a byte order mark does not belong here");
  const Utf8Step step = utf8_step(text_.substr(at_));
  if (!step.valid) return fail_at(at_, "not UTF-8");
  return fail_at(at_, fmt::format("expected {}, found {}", wanted, quote(text_.substr(at_, step.bytes))));
}

void Scanner::skip_white_space() {
  while (at_ < text_.size() && is_white_space(text_[at_])) ++at_;
}

bool Scanner::punctuation(Token& token, TokenKind kind, Expect then) {
  token.kind = kind;
  token.raw = text_.substr(at_++, 1);
  expect_ = then;
  return true;
}

bool Scanner::value(Token& token) {
  switch (peek()) {
    case '{':
      return open(token, Kind::kObject);
    case '[':
      return open(token, Kind::kArray);
    case '"':
      token.kind = TokenKind::kString;
      if (!string(token)) return false;
      after_value();
      return true;
    case 't':
      return word(token, "true", TokenKind::kTrue);
    case 'f':
      return word(token, "false", TokenKind::kFalse);
    case 'n':
      return word(token, "null", TokenKind::kNull);
    default:
      return peek() == '-' || is_digit(peek()) ? number(token) : unexpected("a value");
  }
}

bool Scanner::key(Token& token) {
  if (peek() != '"') return unexpected("a key in double quotes");
  const std::size_t offset = at_;
  if (keys_.size() - levels_.back().first_key == keys_max_) {
    return fail_at(offset, fmt::format("more than {} keys in one object", keys_max_));
  }
  token.kind = TokenKind::kKey;
  if (!string(token)) return false;
  std::string_view text = token.raw.substr(1, token.raw.size() - 2);
  if (token.has_escapes) text = unescaped_.emplace_back(unescape(token));
  keys_.push_back({text, offset});
  expect_ = Expect::kColon;
  return true;
}

bool Scanner::comma_or_end(Token& token) {
  const bool in_object = levels_.back().kind == Kind::kObject;
  if (peek() == (in_object ? '}' : ']')) return close(token);
  if (peek() != ',') return unexpected(in_object ? "',' or '}'" : "',' or ']'");
  return punctuation(token, TokenKind::kComma, in_object ? Expect::kKey : Expect::kValue);
}

bool Scanner::open(Token& token, Kind kind) {
  if (levels_.size() == depth_max_) return fail_at(at_, fmt::format("nested deeper than {} levels", depth_max_));
  levels_.push_back({kind, keys_.size()});
  return kind == Kind::kObject ? punctuation(token, TokenKind::kBeginObject, Expect::kKeyOrEnd)
                               : punctuation(token, TokenKind::kBeginArray, Expect::kValueOrEnd);
}

bool Scanner::close(Token& token) {
  const Level level = levels_.back();
  if (!keys_are_distinct(level.first_key)) return false;
  keys_.resize(level.first_key);
  levels_.pop_back();
  punctuation(token, level.kind == Kind::kObject ? TokenKind::kEndObject : TokenKind::kEndArray, expect_);
  after_value();
  return true;
}

// Sorted once the object is complete: no hashing that chosen keys could defeat, and never quadratic.
bool Scanner::keys_are_distinct(std::size_t first_key) {
  if (keys_.size() - first_key < 2) return true;
  const auto keys = std::ranges::subrange(keys_.begin() + static_cast<std::ptrdiff_t>(first_key), keys_.end());
  std::ranges::sort(
      keys, [](const Key& a, const Key& b) { return a.text != b.text ? a.text < b.text : a.offset < b.offset; });
  const auto twice = std::ranges::adjacent_find(keys, {}, &Key::text);
  if (twice == keys.end()) return true;
  return fail_at(std::next(twice)->offset, "key " + quoted_excerpt(twice->text) + " stands twice in one object");
}

// Most of a string is plain, and most of a document is strings.
void Scanner::skip_plain() {
  const char* const end = text_.data() + text_.size();
  const char* next = text_.data() + at_;
  while (end - next >= 8 && are_plain(next)) next += 8;
  while (next != end && kIsPlain[static_cast<unsigned char>(*next)]) ++next;
  at_ = static_cast<std::size_t>(next - text_.data());
}

bool Scanner::string(Token& token) {
  const std::size_t start = at_++;
  for (;;) {
    skip_plain();
    const auto c = static_cast<unsigned char>(peek());
    if (at_ == text_.size()) return fail_at(start, "the string that begins here does not end");
    if (c == '"') break;
    if (c == '\\') {
      token.has_escapes = true;
      if (!escape()) return false;
    } else if (c < 0x20) {
      return fail_at(at_, "a control character in a string must be escaped");
    } else if (c < 0x80) {
      ++at_;
    } else {
      const Utf8Step step = utf8_step(text_.substr(at_));
      if (!step.valid) return fail_at(at_, "not UTF-8");
      at_ += step.bytes;
    }
  }
  ++at_;
  token.raw = text_.substr(start, at_ - start);
  return true;
}

bool Scanner::escape() {
  const std::size_t start = at_;
  const char c = start + 1 < text_.size() ? text_[start + 1] : '\0';
  if (c != 'u') {
    at_ += 2;
    return std::string_view("\"\\/bfnrt").contains(c) ? true : fail_at(start, "no such escape");
  }
  std::uint32_t unit = 0;
  if (!hex4(start + 2, unit)) return fail_at(start, "\\u needs four hex digits");
  at_ += 6;
  if (is_low_surrogate(unit)) return fail_at(start, "half of a surrogate pair");
  if (!is_high_surrogate(unit)) return true;
  if (!text_.substr(at_).starts_with("\\u") || !hex4(at_ + 2, unit) || !is_low_surrogate(unit)) {
    return fail_at(start, "half of a surrogate pair");
  }
  at_ += 6;
  return true;
}

bool Scanner::hex4(std::size_t at, std::uint32_t& unit) {
  unit = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const std::uint32_t digit = i < text_.size() ? hex_value(text_[i]) : 16;
    if (digit == 16) return false;
    unit = unit * 16 + digit;
  }
  return true;
}

bool Scanner::number(Token& token) {
  const std::size_t start = at_;
  if (peek() == '-') ++at_;
  if (peek() == '0') {
    ++at_;
    if (is_digit(peek())) return fail_at(start, "a number does not begin with 0");
  } else if (!digits()) {
    return false;
  }
  if (peek() == '.') {
    ++at_;
    if (!digits()) return false;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!digits()) return false;
  }
  token.kind = TokenKind::kNumber;
  token.raw = text_.substr(start, at_ - start);
  after_value();
  return true;
}

bool Scanner::digits() {
  if (!is_digit(peek())) return unexpected("a digit");
  while (is_digit(peek())) ++at_;
  return true;
}

bool Scanner::word(Token& token, std::string_view spelling, TokenKind kind) {
  if (!text_.substr(at_).starts_with(spelling)) return unexpected("a value");
  token.kind = kind;
  token.raw = text_.substr(at_, spelling.size());
  at_ += spelling.size();
  after_value();
  return true;
}

void Scanner::after_value() {
  expect_ = levels_.empty() ? Expect::kNothing : Expect::kCommaOrEnd;
}

}  // namespace drover::json
