// A runner profile: which command a worker may execute for a type. From a worker's own drover.yaml or command line;
// never stored, never from a task.
#pragma once

#include <string>
#include <vector>

namespace drover {

struct RunnerProfile {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // names of the worker's variables that the agent may see, beside the usual ones
  int concurrency = 1;

  bool operator==(const RunnerProfile&) const = default;
};

}  // namespace drover
