#include "base/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kRedacted = "[redacted]";

struct LevelLook {
  std::string_view name;   // in JSON
  std::string_view label;  // in text
  std::string_view colour;
};

LevelLook look_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return {"debug", "DEBUG", "\x1b[2m"};
    case LogLevel::kInfo:
      return {"info", "INFO ", "\x1b[32m"};
    case LogLevel::kWarn:
      return {"warn", "WARN ", "\x1b[33m"};
    case LogLevel::kError:
      return {"error", "ERROR", "\x1b[31m"};
    case LogLevel::kOff:
      break;
  }
  CHECK_MSG(false, "no record has this level");
}

// The local time of day, for the person at the terminal.
std::string time_of_day(Time time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t epoch_seconds = second.time_since_epoch().count();
  std::tm local{};
  CHECK(::localtime_r(&epoch_seconds, &local) != nullptr);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec, (time - second).count());
}

// The code points that steer a terminal: C0, DEL and C1 (which is C2 80 to C2 9F in UTF-8).
bool is_control(std::string_view character) {
  const auto c = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return c < 0x20 || c == 0x7F;
  return c == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escaped(std::string& out, std::string_view text) {
  const std::string clean = to_utf8(text);
  for (std::string_view rest = clean; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_step(rest).bytes);
    rest.remove_prefix(character.size());
    if (!is_control(character)) {
      out.append(character);
    } else if (character == "\n") {
      out.append("\\n");
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(character.back()));
    }
  }
}

// Quoted where a bare value could be read wrongly.
void append_text_value(std::string& out, std::string_view value) {
  const bool bare = !value.empty() && value.find_first_of(" \"=") == std::string_view::npos;
  append_escaped(out, bare ? value : json::quote(value));
}

std::string_view shown_value(std::string_view name, std::string_view value) {
  return is_secret_name(name) ? kRedacted : value;
}

std::string format_text(const LogEntry& record, std::string_view colour, std::string_view dim, std::string_view plain) {
  std::string line =
      fmt::format("{}{}{} {}{}{} ", dim, time_of_day(record.time), plain, colour, look_of(record.level).label, plain);
  append_escaped(line, record.component);
  line += "  ";
  append_escaped(line, record.message);
  for (const auto& [name, value] : record.fields) {
    line.append("  ").append(dim);
    append_escaped(line, name);
    line.append("=").append(plain);
    append_text_value(line, shown_value(name, value));
  }
  line += '\n';
  return line;
}

// Fields stand apart, so that none can pass for the record's own.
std::string format_json(const LogEntry& record) {
  json::Writer writer;
  writer.begin_object();
  writer.key("time").string(format_time(record.time));
  writer.key("level").string(look_of(record.level).name);
  writer.key("component").string(record.component);
  writer.key("message").string(record.message);
  if (record.fields.size() > 0) {
    writer.key("fields").begin_object();
    for (const auto& [name, value] : record.fields) writer.key(name).string(shown_value(name, value));
    writer.end_object();
  }
  writer.end_object();
  return std::move(writer).take() + '\n';
}

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string format_record(const LogEntry& record, LogStyle style) {
  switch (style) {
    case LogStyle::kPlain:
      return format_text(record, {}, {}, {});
    case LogStyle::kColour:
      return format_text(record, look_of(record.level).colour, "\x1b[2m", "\x1b[0m");
    case LogStyle::kJson:
      return format_json(record);
  }
  CHECK(false);
}

bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kSecretWords{"authorization", "token",   "secret", "password",
                                                                "apikey",        "api_key", "api-key"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), to_lower);
  return std::ranges::any_of(kSecretWords, [&lower](std::string_view word) { return lower.contains(word); });
}

}  // namespace drover
