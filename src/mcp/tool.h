// A tool, and what a set of tools is to the protocol.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/task_queue.h"

namespace drover::mcp {

// What a client may expect a tool to do.
struct Hints {
  bool read_only = false;
  bool destructive = false;
  bool idempotent = false;
};
inline constexpr Hints kAdds{};
inline constexpr Hints kSets{.idempotent = true};
inline constexpr Hints kLooks{.read_only = true, .idempotent = true};
inline constexpr Hints kEnds{.destructive = true, .idempotent = true};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string_view properties;  // the JSON of its arguments' schemas
  std::string_view required;    // the JSON of a list of names
  Hints hints;
  bool takes_anything = false;  // arguments that are not among the properties, too
  bool needs_tasks = false;     // only for clients that declare the tasks extension
};

// What a tool says: an object, the same for programs and as text.
struct ToolResult {
  std::string json;
  bool is_error = false;
};
// It cannot answer yet: something has to happen to one of these tasks first. It is asked again then, and for the last
// time when its time is over.
struct Waiting {
  std::vector<TaskId> tasks;
  Millis at_most{0};  // from the first call
  int done = 0;       // how much of it has happened, of how much: for those who want to see progress
  int total = 0;
  int percent = 0;  // of 100 for each of them
};
// It has stored a task, and the client can ask for that.
struct TaskStored {
  Task task;
};
using ToolAnswer = std::variant<ToolResult, Waiting, TaskStored>;

enum class Attempt : std::uint8_t { kMayWait, kLast };

struct ToolCall {
  std::string_view name;
  std::string_view arguments;  // the JSON of an object
  bool knows_tasks = false;    // the client takes TaskStored for an answer
  Attempt attempt = Attempt::kMayWait;
  std::string& made;  // what earlier attempts at this call have made, so that it is made once
};

// The verbs of the tasks extension: a client follows a task that a tool has stored.
class TaskFollower {
 public:
  virtual ~TaskFollower() = default;

  [[nodiscard]] virtual Result<Task> task(const TaskId& id) = 0;
  // What the tool that stored the task says of it now.
  [[nodiscard]] virtual ToolResult result_of(const Task& task) = 0;
  [[nodiscard]] virtual Status cancel(const TaskId& id) = 0;
};

// Safe from any thread.
class Toolset {
 public:
  virtual ~Toolset() = default;

  // Those that this caller may use, always in the same order.
  [[nodiscard]] virtual std::vector<Tool> tools() const = 0;
  // Of a tool that is among them.
  [[nodiscard]] virtual ToolAnswer call(const ToolCall& call) = 0;
  // Null: it has no tasks to follow.
  [[nodiscard]] virtual TaskFollower* follower() { return nullptr; }
};

// An error of ours as a tool tells it: code, message, and what to do about it.
[[nodiscard]] ToolResult tool_error(const Error& error);

}  // namespace drover::mcp
