#include "core/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstdint>

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

// Whether the text begins as the shape says: 0 is a digit, x a hex digit, a a letter, everything else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  return std::ranges::equal(text.substr(0, shape.size()), shape, [](char c, char s) {
    return s == '0' ? is_digit(c) : s == 'x' ? is_hex(c) : s == 'a' ? is_letter(c) : c == s;
  });
}

constexpr std::string_view kUuidShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
// Times that are more than one run: those of HTTP, of system logs, and of people.
constexpr auto kTimeShapes = std::to_array<std::string_view>(
    {"aaa, 00 aaa 0000 00:00:00 GMT", "aaa 00 00:00:00", "00:00 AM", "00:00 PM", "0:00 AM", "0:00 PM"});
constexpr auto kMarkers =
    std::to_array<std::string_view>({"<n>", "<id>", "<time>", "<path>", "<url>", "<host>", "<quoted>"});

bool is_time(std::string_view run) {
  return has_shape(run, "0000-00-00") || has_shape(run, "00:00:00");
}

bool is_path(std::string_view run, bool stands_free) {
  if (stands_free && run.size() > 1 && is_one_of(run[0], R"(/\)")) return true;
  const auto slashes = std::ranges::count_if(run, [](char c) { return is_one_of(c, R"(/\)"); });
  const bool names_something = std::ranges::any_of(run, is_letter);
  return names_something && (slashes > 1 || (slashes == 1 && is_one_of('.', run)));
}

// main.cc:12:3
bool is_line_of_file(std::string_view run) {
  const std::size_t colon = run.find(':');
  if (colon == std::string_view::npos || colon + 1 == run.size() || !is_digit(run[colon + 1])) return false;
  const std::string_view name = run.substr(0, colon);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot < 2 || name.size() - dot > 5) return false;
  return std::ranges::any_of(name.substr(0, dot), is_letter) && std::ranges::all_of(name.substr(dot + 1), is_alnum) &&
         is_letter(name[dot + 1]);
}

// db1.example.com, 10.0.0.5, localhost; each also with a port.
bool is_host(std::string_view run) {
  constexpr auto kEndings = std::to_array<std::string_view>(
      {"com", "org", "net", "io", "dev", "ai", "app", "cloud", "co", "local", "internal", "lan", "example", "test"});
  const std::string_view name = run.substr(0, run.find(':'));
  if (name == "localhost") return true;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos ||
      std::ranges::any_of(name, [](char c) { return is_one_of(c, R"(/\@%+~#?&,_)"); })) {
    return false;
  }
  const bool is_quad = std::ranges::count(name, '.') == 3 && std::ranges::none_of(name, is_letter);
  return is_quad || std::ranges::find(kEndings, name.substr(dot + 1)) != kEndings.end();
}

// Up to white space or a bracket; what ends a sentence is no part of it.
std::size_t url_length(std::string_view text) {
  std::size_t length = count_while(text, [](char c) { return !is_space(c) && !is_one_of(c, "\"'`<>()[]{}"); });
  while (is_one_of(text[length - 1], ".,:;?!")) --length;
  return length;
}

// 3f9c2ab and 0x7ffd12a0, but no plain number.
bool is_hash(std::string_view word) {
  if (word.starts_with("0x") && word.size() > 2) return std::ranges::all_of(word.substr(2), is_hex);
  return word.size() >= 7 && std::ranges::all_of(word, is_hex) && std::ranges::any_of(word, is_digit) &&
         std::ranges::any_of(word, is_letter);
}

// 1m30s: several numbers with their units. Its length; 0 if it is none.
std::size_t long_duration(std::string_view text) {
  static constexpr std::string_view kUnits = "dhmsun";
  std::size_t at = 0;
  int parts = 0;
  while (at < text.size() && is_digit(text[at])) {
    at += number_length(text.substr(at));
    const std::size_t unit = count_while(text.substr(at), [](char c) { return is_one_of(c, kUnits); });
    if (unit == 0 || unit > 2) return 0;
    at += unit;
    ++parts;
  }
  return parts > 1 && (at == text.size() || !is_alnum(text[at])) ? at : 0;
}

// What a number behind this word is: "status 429", "statusCode: 429", "exit code 137", "[Errno 13]", "curl: (28)".
enum class Announces : std::uint8_t { kNothing, kCode, kHttpStatus };
Announces announces(std::string_view word) {
  constexpr auto kCodes = std::to_array<std::string_view>({"code", "status", "errno", "http", "signal", "curl"});
  const auto is_same = [&](std::string_view known) {
    return std::ranges::equal(word, known, [](char a, char b) { return (a | 0x20) == b; });
  };
  if (std::ranges::any_of(kCodes, is_same) || word.ends_with("Code") || word.ends_with("Status")) {
    return Announces::kCode;
  }
  return is_same("error") || is_same("err") ? Announces::kHttpStatus : Announces::kNothing;
}

bool is_http_error(std::string_view digits) {
  return digits.size() == 3 && (digits[0] == '4' || digits[0] == '5');
}

// A reason that HTTP gives: "429 Too Many Requests".
bool is_http_reason(std::string_view text) {
  constexpr auto kReasons = std::to_array<std::string_view>(
      {" Bad Request", " Unauthorized", " Payment Required", " Forbidden", " Not Found", " Conflict", " Payload Too",
       " Too Many", " Internal Server", " Bad Gateway", " Service Un", " Gateway T", " Overloaded"});
  return std::ranges::any_of(kReasons, [&](std::string_view reason) { return text.starts_with(reason); });
}

// Of what stands in quotes: the name of a kind ("rate_limit_error", 'ENOENT') and punctuation (';') are kept; so are
// several words, each by the same rules. One word is what the message is about this time.
bool is_name_of_kind(std::string_view quoted) {
  const auto is_capital = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  if (quoted.empty() || !std::ranges::all_of(quoted, [](char c) { return is_letter(c) || c == '_'; })) return false;
  return quoted.contains("rror") || quoted.contains("xception") ||
         (quoted.size() > 3 && std::ranges::all_of(quoted, is_capital));
}
bool is_punctuation(std::string_view quoted) {
  return !quoted.empty() && std::ranges::none_of(quoted, [](char c) {
    return is_alnum(c) || is_space(c) || static_cast<unsigned char>(c) >= 0x80;
  });
}

// Colours of a terminal.
std::string without_escapes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    text.remove_prefix(2);
    text.remove_prefix(count_while(text, [](char c) { return is_digit(c) || is_one_of(c, ";?"); }));
    if (!text.empty()) text.remove_prefix(1);
  }
  return plain;
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
    if (c == '<' && keep_marker()) return;
    if (depth_ > 0 && c == '\\' && take_escape()) return;
    if (is_one_of(c, "\"`'") && depth_ == 0 && take_quoted()) return;
    if (is_in_run(c)) return take_run();
    keep_mark();
  }

  void keep(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  void replace(std::size_t bytes, std::string_view marker) {
    out_ += marker;
    rest_.remove_prefix(bytes);
    expect_nothing();
  }
  void expect_nothing() {
    announced_ = Announces::kNothing;
    names_host_ = false;
  }

  // Inside braces stands JSON, or what a language prints of its objects: quotes say nothing there.
  void keep_mark() {
    const char c = rest_.front();
    if (c == '{') ++depth_;
    if (c == '}') depth_ = std::max(0, depth_ - 1);
    if (is_one_of(c, "{},;.)]")) expect_nothing();
    keep(1);
  }

  bool keep_marker() {
    const auto marker =
        std::ranges::find_if(kMarkers, [&](std::string_view known) { return rest_.starts_with(known); });
    if (marker == kMarkers.end()) return false;
    expect_nothing();
    keep(marker->size());
    return true;
  }

  void fold_space() {
    rest_.remove_prefix(count_while(rest_, is_space));
    words_end_ = out_.size();
    if (!out_.empty() && out_.back() != ' ' && !rest_.empty()) out_ += ' ';
  }

  // JSON in a string of JSON: \" is a quote, \n is white space.
  bool take_escape() {
    const std::size_t slashes = count_while(rest_, [](char c) { return c == '\\'; });
    if (slashes == rest_.size()) return false;
    const char c = rest_[slashes];
    if (c == '"') {
      rest_.remove_prefix(slashes);
      return true;
    }
    if (!is_one_of(c, "nrt")) return false;
    rest_.remove_prefix(slashes + 1);
    words_end_ = out_.size();
    if (!out_.empty() && out_.back() != ' ') out_ += ' ';
    return true;
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
    if (rest_.size() == quote_ends_) {
      keep(1);
      return true;
    }
    const char quote = rest_.front();
    if (quote == '\'' && !out_.empty() && !is_one_of(out_.back(), " ([{,:;=")) return false;
    for (std::size_t end = rest_.find(quote, 1); end != std::string_view::npos; end = rest_.find(quote, end + 1)) {
      const bool closes = quote != '\'' || end + 1 == rest_.size() || is_space(rest_[end + 1]) ||
                          is_one_of(rest_[end + 1], ".,;:)]}!?");
      if (!closes) continue;
      take_quoted_text(rest_.substr(1, end - 1));
      return true;
    }
    return false;
  }

  void take_quoted_text(std::string_view text) {
    const auto is_word_end = [](char a, char b) { return !is_space(a) && is_space(b); };
    const std::string_view without_end = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    if (std::ranges::adjacent_find(without_end, is_word_end) != without_end.end()) {
      quote_ends_ = rest_.size() - text.size() - 1;
      return keep(1);
    }
    expect_nothing();
    if (is_name_of_kind(text) || is_punctuation(text)) return keep(text.size() + 2);
    replace(text.size() + 2, "<quoted>");
  }

  void take_run() {
    for (const std::string_view shape : kTimeShapes) {
      if (has_shape(rest_, shape)) return replace(shape.size(), "<time>");
    }
    std::string_view run = rest_.substr(0, count_while(rest_, is_in_run));
    if (depth_ > 0) run = run.substr(0, run.find('\\', 1));  // the next one may be an escape
    while (run.size() > 1 && is_one_of(run.back(), ".,:?")) run.remove_suffix(1);
    const bool stands_free = out_.empty() || out_.back() != '>';
    if (run.find("://") != std::string_view::npos) return replace(url_length(rest_), "<url>");
    if (has_shape(run, "HTTP/0")) return announce_http(run.size());
    if (is_time(run)) return replace(run.size(), "<time>");
    if (is_line_of_file(run) || is_path(run, stands_free)) return replace(run.size(), "<path>");
    if (is_host(run) || (names_host_ && is_alnum(run.front()))) return replace(run.size(), "<host>");
    const std::size_t end = rest_.size() - run.size();
    while (rest_.size() > end) take_piece(rest_.substr(0, rest_.size() - end));
  }

  // The version of the protocol says nothing; a status comes behind it.
  void announce_http(std::size_t bytes) {
    replace(bytes, "HTTP");
    announced_ = Announces::kCode;
  }

  // One word of a run, or what stands between two.
  void take_piece(std::string_view run) {
    if (!is_alnum(run.front())) return keep_mark();
    if (has_shape(run, kUuidShape)) return replace(kUuidShape.size(), "<id>");
    const std::string_view word = run.substr(0, count_while(run, is_alnum));
    if (is_hash(word)) return replace(word.size(), "<id>");
    if (const std::size_t duration = long_duration(run); duration > 0) return replace(duration, "<n>s");
    const std::size_t letters = count_while(run, is_letter);
    const std::size_t number = number_length(run.substr(letters));
    if (keeps_code(run, letters, number)) {
      expect_nothing();
      return keep(letters + number);
    }
    const std::size_t tail = count_while(run.substr(letters + number), is_letter);
    const std::size_t length = letters + number + tail;
    const bool goes_on = length < run.size() && is_digit(run[length]);
    // Letters and digits by turns: worker3 and 10MB are words with a number, 3f9c2 is neither.
    if (number > 0 && ((letters > 0 && tail > 0) || goes_on)) return replace(word.size(), "<id>");
    note_word(run.substr(0, letters));
    keep(letters);
    if (number > 0) replace(number, "<n>");
    keep(tail);
  }

  // What a number may be, after this word.
  void note_word(std::string_view word) {
    if (word.empty()) return;
    const bool to_host =
        (word == "host" || word == "hostname") && (out_.ends_with("to ") || out_.ends_with("resolve "));
    names_host_ = to_host || word == "ENOTFOUND" || word == "EAI_AGAIN";
    announced_ = announces(word);
  }

  // 429 behind "status", E0308 behind "error", 401 before "Unauthorized", and (529).
  [[nodiscard]] bool keeps_code(std::string_view run, std::size_t letters, std::size_t number) const {
    constexpr std::size_t kCodeDigitsMax = 5;
    const std::string_view digits = run.substr(letters, number);
    const std::string_view behind = rest_.substr(letters + number);
    const bool ends = behind.empty() || !is_alnum(behind.front());
    if (number == 0 || number > kCodeDigitsMax || !ends || !std::ranges::all_of(digits, is_digit)) return false;
    const bool is_announced = announced_ != Announces::kNothing;
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (letters > 0) return is_announced && letters < 5 && std::ranges::all_of(run.substr(0, letters), is_capital);
    if (announced_ == Announces::kCode) return true;
    if (!is_http_error(digits)) return false;
    return is_announced || is_http_reason(behind) || (out_.ends_with('(') && behind.starts_with(')'));
  }

  std::string_view rest_;
  std::string out_;
  std::size_t words_end_ = 0;                        // of the last whole word
  std::size_t quote_ends_ = std::string_view::npos;  // how much is left where the quote that is open closes
  int depth_ = 0;                                    // of braces
  Announces announced_ = Announces::kNothing;        // what a number would be that comes now
  bool names_host_ = false;                          // a word that comes now is a host
};

}  // namespace

// What was cut off may have been what gave something before it its meaning: a status its reason. So the pattern is
// what does not change any more.
std::string pattern_of(std::string_view message) {
  constexpr int kPassesMax = 8;
  std::string pattern = PatternWriter(to_utf8(without_escapes(message))).take();
  for (int pass = 1; pass < kPassesMax; ++pass) {
    std::string next = PatternWriter(pattern).take();
    if (next == pattern) break;
    pattern = std::move(next);
  }
  return pattern;
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
