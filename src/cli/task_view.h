// How tasks, runs, events and workers look to people, and which columns programs get.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/table.h"
#include "core/event_cursor.h"
#include "drover/task_queue.h"

namespace drover::cli {

// One unit, cut: "340ms", "12s", "5m", "3h", "2d".
[[nodiscard]] std::string coarse_duration(Millis duration);
// How far ahead that is, rounded up to the second, from an hour on to the minute: "1h31m", "1m30s", "45s".
[[nodiscard]] std::string until(Time now, Time then);

[[nodiscard]] Paint paint_of(TaskState state);
// What is worth knowing of a task beside its state: progress, the error, what it waits for. `asked` has open questions,
// of others, too.
[[nodiscard]] std::string note_on(const Task& task, Time now, std::span<const Question> asked = {});

// `gates` tell which of those that wait are held back.
[[nodiscard]] Table task_table(std::span<const Task> tasks, Time now, std::span<const GateStatus> gates = {},
                               std::span<const Question> asked = {});
[[nodiscard]] Table run_table(std::span<const RunSummary> runs, Time now);
[[nodiscard]] Table worker_table(std::span<const WorkerInfo> workers, Time now);

// A whole task with its runs and its open questions, one field a line.
[[nodiscard]] std::string task_page(const Task& task, std::span<const RunSummary> runs, Time now, const Look& look,
                                    std::span<const Question> asked = {});

// One line with its end: local time and words for people, tab-separated fields for programs.
[[nodiscard]] std::string event_line(const Event& event, const Look& look);
[[nodiscard]] std::string gap_line(const EventGap& gap);

// The result as `drover run` prints it: a string as its text, anything else as JSON; with a line end.
[[nodiscard]] std::string result_text(const Task& task);

}  // namespace drover::cli
