// A runner profile: which command a worker may execute for a type. From a worker's own drover.yaml or command line;
// never stored, never from a task.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace drover {

struct RunnerProfile {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // names of the worker's variables that the agent may see, beside the usual ones
  // How many at once. Unset: one, or as many as the worker is told to run.
  std::optional<int> concurrency{};

  bool operator==(const RunnerProfile&) const = default;
};

}  // namespace drover
