// The tools over a TaskQueue: enqueue_task, get_task, wait_tasks, list_tasks, list_questions, and cancel_task,
// retry_task and answer_question if they are allowed. Whom the tasks belong to is the queue's business.
#pragma once

#include "drover/task_queue.h"
#include "mcp/tool.h"

namespace drover::mcp {

// A task type that is a tool of its own: its arguments are the payload, and its answer waits for the end of the task.
struct TypeTool {
  // Whether a client that knows the tasks extension gets a task to follow instead of waiting.
  enum class Follow : std::uint8_t { kOptional, kNever, kRequired };

  std::string type;
  Follow follow = Follow::kOptional;
};
// "review", "review:never" or "review:required". kInvalidArgument if no tool can have that name.
[[nodiscard]] Result<TypeTool> parse_type_tool(std::string_view text);

// What whoever set the server up lets agents do beside enqueueing and looking.
struct Allowed {
  bool cancel = false;
  bool retry = false;
  bool answer = false;  // what tasks ask people
  std::vector<TypeTool> types{};
};
// What the caller's token allows; what it does not is not among the tools.
struct CallerRights {
  bool read = true;
  bool produce = true;
  bool operate = true;
};

class QueueTools final : public Toolset, private TaskFollower {
 public:
  // The queue outlives it.
  QueueTools(TaskQueue& queue, Allowed allowed, CallerRights rights)
      : queue_(queue), allowed_(allowed), rights_(rights) {}

  [[nodiscard]] std::vector<Tool> tools() const override;
  [[nodiscard]] ToolAnswer call(const ToolCall& call) override;
  [[nodiscard]] TaskFollower* follower() override { return rights_.produce ? this : nullptr; }

 private:
  [[nodiscard]] Result<Task> task(const TaskId& id) override { return queue_.get(id); }
  [[nodiscard]] ToolResult result_of(const Task& task) override;
  [[nodiscard]] Status cancel(const TaskId& id) override;

  [[nodiscard]] Result<ToolAnswer> enqueue_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> get_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> wait_tasks(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> list_tasks(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> cancel_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> retry_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> run_type(const TypeTool& tool, const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> list_questions(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> answer_question(const ToolCall& call);
  [[nodiscard]] Result<Task> stored_task(const ToolCall& call, const TaskSpec& spec, bool& deduplicated);
  // The end of its log.
  [[nodiscard]] Result<std::string> log_tail(const TaskId& id);

  TaskQueue& queue_;
  const Allowed allowed_;
  const CallerRights rights_;
};

}  // namespace drover::mcp
