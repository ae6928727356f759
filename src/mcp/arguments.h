// The arguments of the tools, read and checked. kInvalidArgument names what is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task_queue.h"

namespace drover::mcp {

inline constexpr int kWaitSecondsMax = 50;  // clients cut a tool off after 60 s
inline constexpr int kWaitSecondsDefault = 25;
inline constexpr std::size_t kWaitedTasksMax = 50;
inline constexpr int kListedTasksMax = 50;
inline constexpr int kListedTasksDefault = 20;

struct EnqueueArguments {
  TaskSpec spec;
  Millis wait{0};
};
struct GetArguments {
  TaskId id;
  bool log = false;
  bool runs = false;
  bool explain = false;
};
enum class Until : std::uint8_t { kAny, kAll };
struct WaitArguments {
  std::vector<TaskId> ids;
  Until until = Until::kAll;
  Millis timeout{0};
};
struct ListArguments {
  TaskFilter filter;
  int limit = kListedTasksDefault;
  std::optional<std::string> cursor;
};
struct VerdictArguments {
  TaskId id;
  std::string reason;
};

[[nodiscard]] Result<EnqueueArguments> read_enqueue(std::string_view json);
[[nodiscard]] Result<GetArguments> read_get(std::string_view json);
[[nodiscard]] Result<WaitArguments> read_wait(std::string_view json);
[[nodiscard]] Result<ListArguments> read_list(std::string_view json);
[[nodiscard]] Result<VerdictArguments> read_verdict(std::string_view json);

}  // namespace drover::mcp
