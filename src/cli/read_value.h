// The values of flags and arguments. Errors are kInvalidArgument; the caller names the flag.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/try.h"
#include "cli/options.h"
#include "core/role.h"
#include "core/spec_check.h"
#include "drover/task.h"
#include "drover/task_queue.h"

namespace drover::cli {

[[nodiscard]] Result<std::int64_t> read_integer(std::string_view text, Bounds bounds);
[[nodiscard]] Result<std::string> read_name(std::string_view text);
// One or more names with commas between them.
[[nodiscard]] Result<AnyOf> read_names(std::string_view text);
// The name of a machine or its address as it stands in a Host header, without a port; in small letters.
[[nodiscard]] Result<std::string> read_host(std::string_view text);
[[nodiscard]] Result<std::string> read_text(std::string_view text);
[[nodiscard]] Result<TaskId> read_task_id(std::string_view text);
// The id of a task, or the beginning of one in small letters.
[[nodiscard]] Result<std::variant<TaskId, std::string>> read_task(std::string_view text);
// A time (RFC 3339), or how long ago: 2h.
[[nodiscard]] Result<Time> read_past_time(std::string_view text);
[[nodiscard]] Result<Millis> read_time_limit(std::string_view text);
[[nodiscard]] Result<Millis> read_lease(std::string_view text);
// One or more states with commas between them.
[[nodiscard]] Result<std::vector<TaskState>> read_states(std::string_view text);
[[nodiscard]] Result<ErrorClass> read_error_class(std::string_view text);
[[nodiscard]] Result<std::string> read_fingerprint(std::string_view text);
[[nodiscard]] Result<std::variant<TaskId, std::string>> read_task_id_or_fingerprint(std::string_view text);
[[nodiscard]] Result<bool> read_yes_or_no(std::string_view text);
[[nodiscard]] Result<JsonText> read_json(std::string_view text);
[[nodiscard]] Result<OnParentFailure> read_on_parent_failure(std::string_view text);
[[nodiscard]] Result<DedupeMode> read_dedupe_mode(std::string_view text);
[[nodiscard]] Result<BusyRule> read_busy_rule(std::string_view text);
// The name of a gate: all, queue:Q, type:T, …
[[nodiscard]] Result<std::string> read_gate(std::string_view text);
// A number of permits, or none.
[[nodiscard]] Result<std::optional<int>> read_permits(std::string_view text);
[[nodiscard]] Result<Role> read_role(std::string_view text);
// The id of a token; of a whole token the id within it.
[[nodiscard]] Result<std::string> read_token_id(std::string_view text);
[[nodiscard]] Result<Format> read_format(std::string_view text);
[[nodiscard]] Result<LogLevel> read_log_level(std::string_view text);
// The index of the text among these words.
[[nodiscard]] Result<std::size_t> read_word(std::string_view text, std::span<const std::string_view> words);
// One of these words, which are in the order of the enumerators.
template <class Enum>
[[nodiscard]] Result<Enum> read_enumerator(std::string_view text, std::span<const std::string_view> words) {
  const auto index = TRY(read_word(text, words));
  return static_cast<Enum>(index);
}

}  // namespace drover::cli
