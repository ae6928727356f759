#include "core/fingerprint.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"

namespace drover {
namespace {

// By hand, because those of <cctype> ask the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_alnum(char c) {
  return is_digit(c) || is_letter(c);
}
bool is_space(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}
// What paths, URLs and times are made of.
bool is_in_run(char c) {
  return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 || is_one_of(c, R"(_./\:@%+~#?&,-)");
}

std::size_t count_while(std::string_view text, bool (*is_wanted)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_wanted) - text.begin());
}

// 12, 1.5, 1,234.5
std::size_t number_length(std::string_view text) {
  std::size_t at = count_while(text, is_digit);
  while (at + 1 < text.size() && is_one_of(text[at], ".,") && is_digit(text[at + 1])) {
    at += 1 + count_while(text.substr(at + 1), is_digit);
  }
  return at;
}

// Whether the text begins as the shape says: 0 is a digit, x a hex digit, everything else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  return std::ranges::equal(text.substr(0, shape.size()), shape, [](char c, char s) {
    return s == '0' ? is_digit(c) : s == 'x' ? is_hex(c) : c == s;
  });
}

constexpr std::string_view kUuidShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool is_time(std::string_view run) {
  return has_shape(run, "0000-00-00") || has_shape(run, "00:00:00");
}

bool is_path(std::string_view run, bool stands_free) {
  if (stands_free && run.size() > 1 && is_one_of(run[0], R"(/\)")) return true;
  const auto slashes = std::ranges::count_if(run, [](char c) { return is_one_of(c, R"(/\)"); });
  const bool names_something = std::ranges::any_of(run, is_letter);
  return names_something && (slashes > 1 || (slashes == 1 && is_one_of('.', run)));
}

// Up to white space or a bracket; what ends a sentence is no part of it.
std::size_t url_length(std::string_view text) {
  std::size_t length = count_while(text, [](char c) { return !is_space(c) && !is_one_of(c, "\"'`<>()[]{}"); });
  while (is_one_of(text[length - 1], ".,:;?!")) --length;
  return length;
}

class PatternWriter {
 public:
  explicit PatternWriter(std::string_view message) : rest_(message) {}

  [[nodiscard]] std::string take() && {
    while (!rest_.empty() && out_.size() <= kPatternBytesMax) step();
    if (out_.size() > kPatternBytesMax) cut();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = rest_.front();
    if (is_space(c)) return fold_space();
    if (is_one_of(c, "\"`'") && take_quoted()) return;
    if (is_in_run(c)) return take_run();
    keep(1);
  }

  void keep(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  void replace(std::size_t bytes, std::string_view marker) {
    out_ += marker;
    rest_.remove_prefix(bytes);
  }

  void fold_space() {
    rest_.remove_prefix(count_while(rest_, is_space));
    words_end_ = out_.size();
    if (!out_.empty() && !rest_.empty()) out_ += ' ';
  }

  // Between words; inside the first one if that alone is too long, and then it must not end in a mark that would mean
  // something else at the end.
  void cut() {
    if (words_end_ > 0) return out_.resize(words_end_);
    std::size_t end = kPatternBytesMax;
    while ((static_cast<unsigned char>(out_[end]) & 0xC0U) == 0x80U) --end;
    out_.resize(end);
    const auto is_mark = [](char c) { return static_cast<unsigned char>(c) < 0x80 && !is_alnum(c) && c != '>'; };
    while (!out_.empty() && is_mark(out_.back())) out_.pop_back();
  }

  // An apostrophe inside a word quotes nothing.
  bool take_quoted() {
    const char quote = rest_.front();
    if (quote == '\'' && !out_.empty() && !is_one_of(out_.back(), " ([{,:;=")) return false;
    for (std::size_t end = rest_.find(quote, 1); end != std::string_view::npos; end = rest_.find(quote, end + 1)) {
      const bool closes = quote != '\'' || end + 1 == rest_.size() || is_space(rest_[end + 1]) ||
                          is_one_of(rest_[end + 1], ".,;:)]}!?");
      if (!closes) continue;
      replace(end + 1, "<quoted>");
      return true;
    }
    return false;
  }

  void take_run() {
    std::string_view run = rest_.substr(0, count_while(rest_, is_in_run));
    while (run.size() > 1 && is_one_of(run.back(), ".,:?")) run.remove_suffix(1);
    const bool stands_free = out_.empty() || out_.back() != '>';
    if (run.find("://") != std::string_view::npos) return replace(url_length(rest_), "<url>");
    if (is_time(run)) return replace(run.size(), "<time>");
    if (is_path(run, stands_free)) return replace(run.size(), "<path>");
    const std::size_t end = rest_.size() - run.size();
    while (rest_.size() > end) take_piece(rest_.substr(0, rest_.size() - end));
  }

  // One word of a run, or what stands between two.
  void take_piece(std::string_view run) {
    if (!is_alnum(run.front())) return keep(1);
    if (has_shape(run, kUuidShape)) return replace(kUuidShape.size(), "<id>");
    const std::size_t letters = count_while(run, is_letter);
    const std::size_t number = number_length(run.substr(letters));
    const std::size_t tail = count_while(run.substr(letters + number), is_letter);
    const std::size_t length = letters + number + tail;
    const bool goes_on = length < run.size() && is_digit(run[length]);
    // Letters and digits by turns: worker3 and 10MB are words with a number, 3f9c2 is neither.
    if (number > 0 && ((letters > 0 && tail > 0) || goes_on)) return replace(count_while(run, is_alnum), "<id>");
    keep(letters);
    if (number > 0) replace(number, "<n>");
    keep(tail);
  }

  std::string_view rest_;
  std::string out_;
  std::size_t words_end_ = 0;  // of the last whole word
};

}  // namespace

std::string pattern_of(std::string_view message) {
  return PatternWriter(to_utf8(message)).take();
}

std::string fingerprint(const TaskError& error) {
  const std::string what = std::string(name_of(error.error_class)) + "\n" + pattern_of(error.message);
  return sha256_hex(what).substr(0, kFingerprintDigits);
}

bool is_fingerprint(std::string_view text) {
  return text.size() == kFingerprintDigits &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace drover
