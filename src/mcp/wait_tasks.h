// What wait_tasks answers, wherever the tasks are read from.
#pragma once

#include <functional>

#include "mcp/arguments.h"
#include "mcp/tool.h"

namespace drover::mcp {

using ReadTask = std::function<Result<Task>(const TaskId&)>;

// The tasks that have ended and those that have not, once that is what was asked for; until then Waiting.
[[nodiscard]] Result<ToolAnswer> answer_wait(const WaitArguments& arguments, Attempt attempt, const ReadTask& read);

}  // namespace drover::mcp
