// How one record of the log looks, apart from where it goes. Internal to base/log.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "drover/time.h"

namespace drover {

enum class LogStyle : std::uint8_t { kPlain, kColour, kJson };

struct LogEntry {
  Time time;
  LogLevel level;
  std::string_view component;
  std::string_view message;
  LogFields fields;
};

// One line with its newline at the end.
[[nodiscard]] std::string format_record(const LogEntry& record, LogStyle style);

// Whether a field of that name holds a secret: authorization|token|secret|password|api[_-]?key anywhere, in any case.
[[nodiscard]] bool is_secret_name(std::string_view name);

}  // namespace drover
