// Drover's own log, to stderr: text for people on a terminal, one JSON object a line otherwise.
//
// log_warn("store", "bell file is gone", {{"path", path}}) - component, message, fields. Safe from any thread; each
// record is one write. Newlines and control characters are escaped, and values of fields named like secrets are
// redacted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat : std::uint8_t { kAuto, kText, kJson };

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);
void configure_log(LogLevel level, LogFormat format);
[[nodiscard]] bool log_enabled(LogLevel level);
void log_write(LogLevel level, std::string_view component, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view component, std::string_view message, LogFields fields = {}) {
  if (log_enabled(LogLevel::kDebug)) log_write(LogLevel::kDebug, component, message, fields);
}
inline void log_info(std::string_view component, std::string_view message, LogFields fields = {}) {
  log_write(LogLevel::kInfo, component, message, fields);
}
inline void log_warn(std::string_view component, std::string_view message, LogFields fields = {}) {
  log_write(LogLevel::kWarn, component, message, fields);
}
inline void log_error(std::string_view component, std::string_view message, LogFields fields = {}) {
  log_write(LogLevel::kError, component, message, fields);
}

}  // namespace drover
