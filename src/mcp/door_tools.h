// The tools of an agent inside a task, over the task's own door: my_task, report_progress, save_checkpoint,
// spawn_tasks, ask, and get_task and wait_tasks for the tasks that it spawned, and that those spawned.
#pragma once

#include <functional>
#include <string>

#include "mcp/tool.h"

namespace drover::mcp {

// A request to the door: method, target, body. The body of a good answer.
using AskDoor =
    std::function<Result<std::string>(const std::string& method, const std::string& target, const std::string& body)>;

class DoorTools final : public Toolset {
 public:
  explicit DoorTools(AskDoor ask) : ask_(std::move(ask)) {}

  [[nodiscard]] std::vector<Tool> tools() const override;
  [[nodiscard]] ToolAnswer call(const ToolCall& call) override;

 private:
  [[nodiscard]] Result<ToolAnswer> my_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> report_progress(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> save_checkpoint(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> spawn_tasks(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> ask_question(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> get_task(const ToolCall& call);
  [[nodiscard]] Result<ToolAnswer> wait_tasks(const ToolCall& call);
  [[nodiscard]] Result<Task> read_task(const TaskId& id);

  AskDoor ask_;
};

}  // namespace drover::mcp
