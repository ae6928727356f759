#include "mcp/wait_tasks.h"

#include "base/json.h"
#include "base/try.h"
#include "mcp/task_view.h"

namespace drover::mcp {

Result<ToolAnswer> answer_wait(const WaitArguments& arguments, Attempt attempt, const ReadTask& read) {
  std::vector<Task> ended;
  std::vector<Task> pending;
  for (const TaskId& id : arguments.ids) {
    auto task = TRY(read(id));
    (is_terminal(task.state) ? ended : pending).push_back(std::move(task));
  }
  const bool is_over = pending.empty() || (arguments.until == Until::kAny && !ended.empty());
  if (!is_over && attempt == Attempt::kMayWait && arguments.timeout > Millis{0}) {
    Waiting waiting{.tasks = {},
                    .at_most = arguments.timeout,
                    .done = static_cast<int>(ended.size()),
                    .total = static_cast<int>(arguments.ids.size())};
    waiting.percent = 100 * waiting.done;
    for (const Task& task : pending) {
      waiting.tasks.push_back(task.id);
      waiting.percent += percent_of(task);
    }
    return waiting;
  }
  json::Writer out;
  out.begin_object().key("ended").begin_array();
  for (const Task& task : ended) {
    out.begin_object();
    write_task(out, task);
    out.end_object();
  }
  out.end_array().key("pending").begin_array();
  for (const Task& task : pending) write_summary(out, task);
  out.end_array().key("timed_out").boolean(!is_over).end_object();
  return ToolResult{.json = std::move(out).take()};
}

}  // namespace drover::mcp
