#include "worker/process_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::size_t kErrorLineBytesMax = 1'000;
constexpr std::size_t kTailBytes = 4 * 1024;

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

}  // namespace

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

std::optional<int> exit_code_of(const ProcessEnd& end) {
  const auto* exited = std::get_if<Exited>(&end.how);
  return exited != nullptr ? std::optional(exited->code) : std::nullopt;
}

std::string with_last_words(std::string message, std::string_view last_words) {
  return last_words.empty() ? message : fmt::format("{}: {}", message, last_words);
}

End stopped_outcome(StopCause cause, const ProcessEnd& end, const Task& task) {
  switch (cause) {
    case StopCause::kCancelled:
      return CancelConfirmed{exit_code_of(end)};
    case StopCause::kLeaseLost:
      return given_back(end, task, "it was stopped because its lease could not be renewed");
    case StopCause::kShutdown:
      return given_back(end, task, "it was stopped because its worker shut down");
    case StopCause::kTimeout:
      return timed_out(fmt::format("ran longer than {}", format_duration(task.timeout)), end);
    case StopCause::kIdleTimeout:
      return timed_out(fmt::format("no output and no progress for {}", format_duration(task.idle_timeout)), end);
    case StopCause::kBudget:
      return Failure{.error_class = ErrorClass::kBudgetExceeded, .exit_code = exit_code_of(end)};
  }
  return Release{};
}

std::optional<End> outcome_of_interruption(const ProcessEnd& end, const Task& task, std::string_view last_words) {
  if (end.stopped) return stopped_outcome(*end.stopped, end, task);
  if (end.had_settled || std::holds_alternative<Exited>(end.how)) return std::nullopt;
  if (const auto* killed = std::get_if<KilledBySignal>(&end.how)) {
    return Failure{.error_class = ErrorClass::kKilled,
                   .message = with_last_words(fmt::format("killed by {}", signal_name(killed->signal)), last_words)};
  }
  if (std::holds_alternative<NotStarted>(end.how)) return Release{Begun::kNo};
  return Failure{.error_class = ErrorClass::kKilled, .message = "the process that supervises it was killed"};
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

void Tail::feed(std::string_view bytes) {
  kept_.append(bytes);
  if (kept_.size() > 2 * kTailBytes) kept_.erase(0, kept_.size() - kTailBytes);
}

std::string Tail::text() const {
  return to_utf8(std::string_view(kept_).substr(kept_.size() - std::min(kept_.size(), kTailBytes)));
}

}  // namespace drover
