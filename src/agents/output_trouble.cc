#include "agents/output_trouble.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "agents/trouble.h"
#include "base/text.h"
#include "core/error_class.h"

namespace drover::agents {
namespace {

using re2::RE2;

constexpr std::size_t kLinesMax = 40;
constexpr std::size_t kLineBytesMax = 4 * 1024;
constexpr std::size_t kMessageBytesMax = 1'000;  // as of the last line of stderr
constexpr std::size_t kPatternBytesMax = 1'024;
constexpr int kPatternMemoryMax = 1 << 20;

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemoryMax);
  return options;
}

// A line that begins as an error does, after a time and the names of programs: "fatal: …", "openai.RateLimitError: …",
// "HTTP 403: …", "[API Error: …", or the JSON of an agent's error.
bool is_error_line(const std::string& line) {
  static const RE2 kError(
      R"((?i)^\W*(?:\d[\d:.,TZ/ -]+\W+)?(?:[\w.@/+-]+: ){0,2}\W*(?:)"
      R"((?:an |api |fatal |npm )?(?:error|err!|fatal|panic|exception|failed|failure)\b|\w+ error\]|)"
      R"([\w.]+(?:Error|Exception|Exhausted|Unavailable|TooManyRequests|PermissionDenied|Unauthorized|Forbidden)\b|)"
      R"(HTTP(?:/[\d.]+)? [45]\d\d\b|curl: \(\d+\)))");
  static const RE2 kJson(R"re(^\s*\{.*(?:"type": ?"(?:error|turn\.failed)"|"is_error": ?true))re");
  return RE2::PartialMatch(line, kError) || RE2::PartialMatch(line, kJson);
}

// A line that is a refusal without being called an error.
bool is_refusal(const std::string& line) {
  static const RE2 kRefusal(
      R"((?i)^\W*(?:[\w.@/+-]+: )?(?:you(?:'ve| have) (?:hit|reached|exceeded) (?:your|a) |[\w' -]{0,24}usage limit reached|)"
      R"((?:5-hour|session|daily|weekly|opus)[\w ]* limit reached|credit balance is too low|invalid api key\b|not logged in\b|)"
      R"(too ?many ?requests\b|rate limit exceeded|quota exceeded|to get started with github cli|unable to locate credentials|)"
      R"(permission denied \(publickey|529 overloaded\b|(?:prompt|input) is too long(?:[:.!(]|$)))");
  return RE2::PartialMatch(line, kRefusal);
}

// A line that may hold the same words, and does not say why the program ended.
bool is_beside_the_point(const std::string& line) {
  static const RE2 kGoesOn(
      R"((?i)\bretrying\b|\bwill (?:be )?re-?tr(?:y|ied)|\battempt \d+ ?(?:/|of) ?\d|\bremaining\b|\b(?:INFO|DEBUG|TRACE)\b)");
  static const RE2 kTest(
      R"(\bPASS(?:ED)?\b|^\W*FAIL(?:ED)?\b|^\s*(?:not )?ok \d|[✓✔✗✘]|\.\.\. (?:ok|FAILED)$|(?i:assert|\bexpected\b|\btest failed\b))");
  static const RE2 kSource(
      R"(^[+-]\s|^\s*(?:raise|throw|return)\b|^\S+[:(]\d+[:,)]|error(?:\[E\d+\]| TS\d+)|could not compile|)"
      R"((?:Type|Name|Import|ModuleNotFound|Syntax|Attribute|Reference|Index|Recursion|Indentation)Error\b)");
  static const RE2 kQuote(R"(^\s*(?:>|#{1,6}\s|\|))");  // somebody else's words, a heading, a table
  static const RE2 kOtherLimit(
      R"((?i)\b(?:disk|memory|size|time|recursion|stack|file|depth|system|cpu|process(?:es)?) (?:quota|limit)|larger than max)");
  static const RE2 kCount(R"(\b[45]\d\d [a-z]{2,}s\b)");  // "429 files"
  return std::ranges::any_of(std::array{&kGoesOn, &kTest, &kSource, &kQuote, &kOtherLimit, &kCount},
                             [&](const RE2* pattern) { return RE2::PartialMatch(line, *pattern); });
}

// Those that the words of a stranger may mean. The others need to be said at the door, or by a pattern.
bool is_told_by_words(ErrorClass error_class) {
  return is_throttle(error_class) || error_class == ErrorClass::kAuth || error_class == ErrorClass::kBilling ||
         error_class == ErrorClass::kContextTooLong;
}

std::optional<OutputTrouble> trouble_in_line(const std::string& line, const WallClock& clock) {
  if (is_beside_the_point(line) || !(is_error_line(line) || is_refusal(line))) return std::nullopt;
  Trouble trouble = trouble_of(line);
  trouble.wait = wait_in_text(trouble.text, clock);
  const ErrorClass error_class = class_of(trouble);
  if (!is_told_by_words(error_class)) return std::nullopt;
  return OutputTrouble{.error_class = error_class, .line = line, .wait = trouble.wait};
}

// What the group `seconds` or `time` holds.
SaidWait wait_in_groups(const RE2& pattern, std::span<const re2::StringPiece> groups, const WallClock& clock) {
  for (const auto& [number, name] : pattern.CapturingGroupNames()) {
    const re2::StringPiece& group = groups[static_cast<std::size_t>(number)];
    const std::string_view said(group.data(), group.size());
    if (said.empty()) continue;
    if (name == "seconds") return wait_in_header(said, clock);
    if (name == "time") return wait_in_time(said, clock);
  }
  return {};
}

std::optional<OutputTrouble> fits(const OutputPattern& pattern, const RE2& match, const std::string& line,
                                  const WallClock& clock) {
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(match.NumberOfCapturingGroups()) + 1);
  if (!match.Match(line, 0, line.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size())))
    return std::nullopt;
  return OutputTrouble{.error_class = pattern.error_class, .line = line, .wait = wait_in_groups(match, groups, clock)};
}

// As people read it: without colours, and with plain apostrophes.
std::string readable(const std::string& line) {
  static const RE2 kColour("\x1b\\[[\\d;]*[A-Za-z]|\r");
  std::string text = plain_text(line);
  RE2::GlobalReplace(&text, kColour, "");
  return text;
}

// Headers may say it beside the error: "< retry-after: 30".
SaidWait wait_in_lines(std::span<const std::string> lines, const WallClock& clock) {
  for (const std::string& line : lines | std::views::reverse) {
    if (is_beside_the_point(line)) continue;
    if (const SaidWait wait = wait_in_text(line, clock); wait != SaidWait{}) return wait;
  }
  return {};
}

// With a wait if any line of them says one.
OutputTrouble with_wait(OutputTrouble trouble, std::span<const std::string> lines, const WallClock& clock) {
  if (is_throttle(trouble.error_class) && trouble.wait == SaidWait{}) trouble.wait = wait_in_lines(lines, clock);
  trouble.line = to_utf8(trouble.line.substr(0, kMessageBytesMax));
  return trouble;
}

std::vector<std::string> readable(std::span<const std::string> lines) {
  std::vector<std::string> texts;
  for (const std::string& line : lines) texts.push_back(readable(line));
  return texts;
}

}  // namespace

Status check_output_pattern(const std::string& match) {
  if (match.empty() || match.size() > kPatternBytesMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("expected a regular expression (RE2) of 1 to {} bytes", kPatternBytesMax));
  }
  const RE2 compiled(match, pattern_options());
  if (compiled.ok()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("expected a regular expression (RE2), but: {}", compiled.error()));
}

void OutputTail::feed(LogStream stream, std::string_view bytes) {
  std::string& open = open_[stream == LogStream::kErr ? 1 : 0];
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    open.append(part.substr(0, kLineBytesMax - open.size()));
    if (newline == std::string_view::npos) return;
    if (!open.empty()) ended_.push_back(std::exchange(open, {}));
    if (ended_.size() > kLinesMax) ended_.pop_front();
    bytes.remove_prefix(newline + 1);
  }
}

std::vector<std::string> OutputTail::lines() const {
  std::vector<std::string> lines(ended_.begin(), ended_.end());
  for (const std::string& open : open_) {
    if (!open.empty()) lines.push_back(open);
  }
  if (lines.size() > kLinesMax) lines.erase(lines.begin(), lines.end() - kLinesMax);
  return lines;
}

std::optional<OutputTrouble> trouble_by_pattern(std::span<const std::string> lines,
                                                std::span<const OutputPattern> patterns, const WallClock& clock) {
  const std::vector<std::string> texts = readable(lines);
  for (const OutputPattern& pattern : patterns) {
    const RE2 match(pattern.match, pattern_options());
    for (const std::string& text : texts | std::views::reverse) {
      if (auto trouble = fits(pattern, match, text, clock)) return with_wait(*std::move(trouble), texts, clock);
    }
  }
  return std::nullopt;
}

std::optional<OutputTrouble> usual_trouble(std::span<const std::string> lines, const WallClock& clock) {
  const std::vector<std::string> texts = readable(lines);
  for (const std::string& text : texts | std::views::reverse) {
    if (auto trouble = trouble_in_line(text, clock)) return with_wait(*std::move(trouble), texts, clock);
  }
  return std::nullopt;
}

}  // namespace drover::agents
