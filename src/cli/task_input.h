// Tasks that come from flags, files and stdin.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/environment.h"
#include "cli/task_flags.h"
#include "drover/task.h"

namespace drover::cli {

// What the flags say, with the payload read and every JSON value checked and compact.
[[nodiscard]] Result<TaskSpec> read_task(const TaskArguments& arguments);

// Tasks that name no trace belong to the one that this process is part of (TRACEPARENT).
void continue_own_trace(const Environment& environment, std::span<TaskSpec> tasks);

// The value of --payload: JSON, @FILE, or - for stdin. Checked and compact.
[[nodiscard]] Result<JsonText> read_payload(const std::string& argument);

struct Batch {
  std::string name;  // of the file, for errors
  std::vector<TaskSpec> tasks;
  std::vector<std::size_t> lines;  // where each of them stands
};

// NDJSON: one task object a line; empty lines do not count. Errors name file and line.
[[nodiscard]] Result<Batch> parse_batch(std::string_view text, const std::string& name);
[[nodiscard]] Result<Batch> read_batch(const std::string& file);

// The queue names a task of a refused group by its number, "task 2: …"; people look for its line.
[[nodiscard]] Error at_line(const Batch& batch, Error error);

}  // namespace drover::cli
