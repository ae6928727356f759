// The one JSON shape of tasks, runs, events and what callers send; the same on every surface.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_reader.h"
#include "drover/task_queue.h"

namespace drover {

// Every field of DESIGN's task shape, in its order; unset is null. One line.
[[nodiscard]] std::string to_json(const Task& task);
[[nodiscard]] std::string to_json(const RunSummary& run);
// What a snapshot has of a task, and a list: the members of the same names, without what may be large.
[[nodiscard]] std::string to_snapshot_json(const Task& task);
[[nodiscard]] std::string to_json(const TaskSummary& summary);
[[nodiscard]] std::string to_json(const TaskGraph& graph);
// The beginning of a text: at most so many characters of it, none of them cut in two.
[[nodiscard]] std::string first_chars(std::string_view text, std::size_t chars);
// A task that was read with Parts::kSummary or more.
[[nodiscard]] TaskSummary summary_of(Task task);
inline constexpr std::size_t kSummaryErrorChars = 500;
[[nodiscard]] std::string to_json(const Event& event);
[[nodiscard]] std::string to_json(const Enqueued& enqueued);
[[nodiscard]] std::string to_json(const CancelEffect& effect);
[[nodiscard]] std::string to_json(const WorkerInfo& worker);
[[nodiscard]] std::string to_json(const ErrorGroup& group);
[[nodiscard]] std::string to_json(const LogRecord& record);

// The member "children" of what asks to wait: "all", or a list of ids.
void read_children(json::Reader& in, Suspend& out);

// As parse_task_spec reads it; what is unset is left out.
[[nodiscard]] std::string to_json(const TaskSpec& spec);
// A task object as in a batch line or a request body. Unknown fields, wrong types and bad values are kInvalidArgument
// and name the field. `payload` and `fallback_result` keep the text that stands in `text`. Accepts both
// "delay"/"deadline"/"timeout"/"idle_timeout" as durations ("30s") and the task shape's own names ("run_at",
// "deadline_at", "timeout_ms", "idle_timeout_ms"); "dedupe_window" or "dedupe_window_ms".
[[nodiscard]] Result<TaskSpec> parse_task_spec(std::string_view text);
[[nodiscard]] Result<TaskSpec> parse_task_spec(const json::Value& object);

}  // namespace drover
