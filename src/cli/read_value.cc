#include "cli/read_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/fingerprint.h"
#include "core/task_filter.h"
#include "engine/token_document.h"

namespace drover::cli {
namespace {

template <class T>
Result<T> choose(std::string_view text, std::optional<T> found, std::span<const std::string_view> known) {
  if (found) return *found;
  const std::string_view near = closest_word(text, known);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not one of {}{}", quoted_excerpt(text), fmt::join(known, ", "),
                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

Result<Millis> read_duration(std::string_view text, Status (*check)(Millis)) {
  auto duration = parse_duration(text);
  if (!duration) return duration;
  TRY(check(*duration));
  return duration;
}

Result<TaskState> read_state(std::string_view text) {
  std::array<std::string_view, kTaskStateCount> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<TaskState>(i));
  return choose(text, parse_task_state(text), names);
}

}  // namespace

Result<std::size_t> read_word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  return choose(text, found == words.end() ? std::nullopt : std::optional<std::size_t>(found - words.begin()), words);
}

Result<std::int64_t> read_integer(std::string_view text, Bounds bounds) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < bounds.min || value > bounds.max) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("expected a whole number from {} to {}, not {}", bounds.min,
                                                         bounds.max, quoted_excerpt(text)));
  }
  return value;
}

Result<std::string> read_name(std::string_view text) {
  TRY(check_name(text));
  return std::string(text);
}

Result<AnyOf> read_names(std::string_view text) {
  AnyOf names;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto name = TRY(read_name(text.substr(0, comma)));
    names.add(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

Result<std::string> read_host(std::string_view text) {
  const bool is_bracketed = text.starts_with('[') && text.ends_with(']');
  const std::string_view name = is_bracketed ? text.substr(1, text.size() - 2) : text;
  const bool is_address = std::ranges::count(name, ':') > 1;
  const std::string_view allowed = is_address ? ":.%" : "-._";
  const bool is_good = std::ranges::all_of(
      name, [&](unsigned char c) { return std::isalnum(c) != 0 || allowed.contains(static_cast<char>(c)); });
  if (name.empty() || !is_good) return fail(ErrorCode::kInvalidArgument, "expected the name of a host, without a port");
  std::string host(name);
  std::ranges::transform(host, host.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_address ? "[" + host + "]" : host;
}

Result<std::string> read_text(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  return fail(ErrorCode::kInvalidArgument, "expected UTF-8 text");
}

Result<TaskId> read_task_id(std::string_view text) {
  if (const auto id = TaskId::parse(text)) return *id;
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} is not a task id; one looks like 01920f5e-7a3c-7def-8123-456789abcdef", quoted_excerpt(text)));
}

Result<Millis> read_time_limit(std::string_view text) {
  return read_duration(text, check_time_limit);
}

Result<Millis> read_lease(std::string_view text) {
  return read_duration(text, check_lease_length);
}

Result<std::vector<TaskState>> read_states(std::string_view text) {
  std::vector<TaskState> states;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto state = TRY(read_state(text.substr(0, comma)));
    states.push_back(state);
    if (comma == std::string_view::npos) return states;
    text.remove_prefix(comma + 1);
  }
}

Result<std::variant<TaskId, std::string>> read_task(std::string_view text) {
  if (const auto id = TaskId::parse(text)) return *id;
  std::string prefix(text);
  std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.size() >= kIdPrefixMin && check_filter({.id_prefix = prefix})) return prefix;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not a task id; type all of it, or at least the first {} characters",
                          quoted_excerpt(text), kIdPrefixMin));
}

Result<Time> read_past_time(std::string_view text) {
  if (const auto ago = parse_duration(text)) return system_clock().wall() - *ago;
  if (auto time = parse_time(text)) return time;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("expected a time (RFC 3339), or how long ago, like 2h, not {}", quoted_excerpt(text)));
}

Result<ErrorClass> read_error_class(std::string_view text) {
  std::array<std::string_view, kErrorClassCount> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<ErrorClass>(i));
  return choose(text, parse_error_class(text), names);
}

Result<std::string> read_fingerprint(std::string_view text) {
  if (is_fingerprint(text)) return std::string(text);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not a fingerprint; one has {} hex digits", quoted_excerpt(text), kFingerprintDigits));
}

Result<std::variant<TaskId, std::string>> read_task_id_or_fingerprint(std::string_view text) {
  if (is_fingerprint(text)) return std::string(text);
  if (const auto id = TaskId::parse(text)) return *id;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is neither a task id nor a fingerprint of {} hex digits",
                                                       quoted_excerpt(text), kFingerprintDigits));
}

Result<bool> read_yes_or_no(std::string_view text) {
  static constexpr std::string_view kNames[] = {"no", "yes"};
  const std::optional<bool> found = text == kNames[0]   ? std::optional(false)
                                    : text == kNames[1] ? std::optional(true)
                                                        : std::nullopt;
  return choose(text, found, kNames);
}

Result<JsonText> read_json(std::string_view text) {
  return json::compact(text);
}

Result<OnParentFailure> read_on_parent_failure(std::string_view text) {
  static constexpr std::string_view kNames[] = {"cancel", "fail", "run"};
  return choose(text, parse_on_parent_failure(text), kNames);
}

Result<DedupeMode> read_dedupe_mode(std::string_view text) {
  static constexpr std::string_view kNames[] = {"single_flight", "drop", "merge", "replace", "keep_latest"};
  return choose(text, parse_dedupe_mode(text), kNames);
}

Result<BusyRule> read_busy_rule(std::string_view text) {
  static constexpr std::string_view kNames[] = {"enqueue", "reject", "interrupt"};
  return choose(text, parse_busy_rule(text), kNames);
}

Result<std::string> read_gate(std::string_view text) {
  TRY(check_gate_name(text));
  return std::string(text);
}

Result<std::optional<int>> read_permits(std::string_view text) {
  if (text == "none") return std::nullopt;
  const auto permits = read_integer(text, kPermitsBounds);
  if (!permits) return fail(ErrorCode::kInvalidArgument, permits.error().message + ", or none");
  return static_cast<int>(*permits);
}

Result<Role> read_role(std::string_view text) {
  std::array<std::string_view, kRoleCount> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Role>(i));
  return choose(text, parse_role(text), names);
}

Result<std::string> read_token_id(std::string_view text) {
  return read_name(id_in_token(text).value_or(text));
}

Result<Format> read_format(std::string_view text) {
  static constexpr std::string_view kNames[] = {"auto", "json", "ndjson", "wide", "name"};
  return read_enumerator<Format>(text, kNames);
}

Result<LogLevel> read_log_level(std::string_view text) {
  static constexpr std::string_view kNames[] = {"debug", "info", "warn", "error", "off"};
  return choose(text, parse_log_level(text), kNames);
}

}  // namespace drover::cli
