#include "worker/runners/exec.h"

#include <fmt/format.h>

#include <cstring>

#include "base/json.h"
#include "base/text.h"

namespace drover {
namespace {

using End = decltype(Settlement::end);

constexpr std::size_t kErrorLineBytesMax = 1'000;
constexpr std::string_view kBlanks = " \t\r\v\f";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

std::optional<int> exit_code_of(const ProcessEnd& end) {
  const auto* exited = std::get_if<Exited>(&end.how);
  return exited != nullptr ? std::optional(exited->code) : std::nullopt;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

End timed_out(std::string message, const ProcessEnd& end) {
  return Failure{.error_class = ErrorClass::kTimeout, .message = std::move(message), .exit_code = exit_code_of(end)};
}

// Given back unharmed, unless running again is what must not happen.
End given_back(const ProcessEnd& end, const Task& task, std::string_view why) {
  const bool started = !std::holds_alternative<NotStarted>(end.how);
  if (!started) return Release{Begun::kNo};
  if (!task.at_most_once) return Release{};
  return Failure{.error_class = ErrorClass::kLost,
                 .message = fmt::format("{}, and it may run at most once", why),
                 .exit_code = exit_code_of(end)};
}

End stopped_outcome(StopCause cause, const ProcessEnd& end, const Task& task) {
  switch (cause) {
    case StopCause::kCancelled:
      return CancelConfirmed{exit_code_of(end)};
    case StopCause::kLeaseLost:
      return given_back(end, task, "it was stopped because its lease could not be kept");
    case StopCause::kShutdown:
      return given_back(end, task, "it was stopped because its worker shut down");
    case StopCause::kTimeout:
      return timed_out(fmt::format("ran longer than {}", format_duration(task.timeout)), end);
    case StopCause::kIdleTimeout:
      return timed_out(fmt::format("no output and no progress for {}", format_duration(task.idle_timeout)), end);
  }
  return Release{};
}

ErrorClass class_of_exit(int code) {
  switch (code) {
    case kExitInvalid:
      return ErrorClass::kInvalid;
    case kExitDeferred:
      return ErrorClass::kRateLimited;
    case kExitUnauthorised:
      return ErrorClass::kAuth;
    default:
      return ErrorClass::kAgentError;
  }
}

std::string with_last_words(std::string message, const LastLine& err) {
  const std::string words = err.text();
  return words.empty() ? message : fmt::format("{}: {}", message, words);
}

End completed(const ExecFacts& facts) {
  auto result = facts.out.result();
  if (!result)
    return Failure{.error_class = ErrorClass::kResultTooLarge, .message = result.error().message, .exit_code = 0};
  return Completion{.result = *std::move(result), .exit_code = 0};
}

End own_outcome(const ProcessEnd& end, const ExecFacts& facts) {
  if (const auto* exited = std::get_if<Exited>(&end.how)) {
    if (exited->code == 0) return completed(facts);
    return Failure{.error_class = class_of_exit(exited->code),
                   .message = with_last_words(fmt::format("exit code {}", exited->code), facts.err),
                   .exit_code = exited->code};
  }
  if (const auto* killed = std::get_if<KilledBySignal>(&end.how)) {
    return Failure{.error_class = ErrorClass::kKilled,
                   .message = with_last_words(fmt::format("killed by {}", signal_name(killed->signal)), facts.err)};
  }
  if (std::holds_alternative<NotStarted>(end.how)) return Release{Begun::kNo};
  return Failure{.error_class = ErrorClass::kKilled, .message = "the process that supervises it was killed"};
}

}  // namespace

void ResultCapture::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes_ <= bytes_max_) {
    all_.append(bytes);
  } else if (!all_.empty()) {
    all_ = {};
  }
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (line_.size() + part.size() <= bytes_max_) {
      line_.append(part);
    } else {
      line_is_cut_ = true;
    }
    if (newline == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(newline + 1);
  }
}

void ResultCapture::end_line() {
  if (line_is_cut_ || !is_blank(line_)) {
    last_line_.swap(line_);
    last_line_is_cut_ = line_is_cut_;
  }
  line_.clear();
  line_is_cut_ = false;
}

Result<JsonText> ResultCapture::result() const {
  const bool open_line_counts = line_is_cut_ || !is_blank(line_);
  const std::string& line = open_line_counts ? line_ : last_line_;
  const bool is_cut = open_line_counts ? line_is_cut_ : last_line_is_cut_;
  if (!is_cut && !line.empty()) {
    if (auto value = json::compact(line)) return value;
  }
  if (bytes_ <= bytes_max_) {
    std::string text = json::quote(all_);
    if (text.size() <= bytes_max_) return text;
  }
  return fail(ErrorCode::kResultTooLarge,
              fmt::format("stdout has {} bytes and does not end with a line of JSON; a result has at most {} bytes",
                          bytes_, bytes_max_));
}

void LastLine::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    line_.append(part.substr(0, kErrorLineBytesMax - line_.size()));
    if (newline == std::string_view::npos) return;
    if (!is_blank(line_)) last_.swap(line_);
    line_.clear();
    bytes.remove_prefix(newline + 1);
  }
}

std::string LastLine::text() const {
  return to_utf8(is_blank(line_) ? last_ : line_);
}

End exec_outcome(const ProcessEnd& end, const ExecFacts& facts) {
  if (end.stopped) return stopped_outcome(*end.stopped, end, facts.task);
  return own_outcome(end, facts);
}

}  // namespace drover
