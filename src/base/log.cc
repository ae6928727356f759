#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "base/check.h"
#include "base/clock.h"
#include "base/log_format.h"

namespace drover {
namespace {

std::atomic<LogLevel> level_min{LogLevel::kInfo};
std::atomic<LogFormat> chosen_format{LogFormat::kAuto};

bool terminal_takes_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

// Asked for every record: where stderr leads may change, as when a server moves to the background.
LogStyle current_style() {
  switch (chosen_format.load(std::memory_order_relaxed)) {
    case LogFormat::kJson:
      return LogStyle::kJson;
    case LogFormat::kAuto:
      if (::isatty(STDERR_FILENO) == 0) return LogStyle::kJson;
      break;
    case LogFormat::kText:
      if (::isatty(STDERR_FILENO) == 0) return LogStyle::kPlain;
      break;
  }
  return terminal_takes_colour() ? LogStyle::kColour : LogStyle::kPlain;
}

// One at a time: a write that is cut short, or a file whose offset the kernel does not lock, would mix two records.
void write_to_stderr(std::string_view line) {
  static std::mutex& one_at_a_time = *new std::mutex;  // never destroyed: threads may log while the process ends
  const std::lock_guard lock(one_at_a_time);
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // the log has no second place to complain in
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warn") return LogLevel::kWarn;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  return std::nullopt;
}

void configure_log(LogLevel level, LogFormat format) {
  level_min.store(level, std::memory_order_relaxed);
  chosen_format.store(format, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) {
  return level >= level_min.load(std::memory_order_relaxed);
}

void log_write(LogLevel level, std::string_view component, std::string_view message, LogFields fields) {
  CHECK(level != LogLevel::kOff);
  if (!log_enabled(level)) return;
  const int saved_errno = errno;  // a caller may log on its way to reporting it
  write_to_stderr(format_record({system_clock().wall(), level, component, message, fields}, current_style()));
  errno = saved_errno;
}

}  // namespace drover
