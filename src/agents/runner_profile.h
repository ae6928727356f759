// A runner profile: which command or agent a worker may execute for a type. From a worker's own drover.yaml or command
// line; never stored, never from a task.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/output_trouble.h"
#include "agents/preset.h"
#include "core/workspace_profile.h"
#include "drover/time.h"

namespace drover {

// A command that checks an agent's work: the run completes only if it ends with exit code 0.
struct Verify {
  std::vector<std::string> argv;
  Millis timeout{10 * 60'000};

  bool operator==(const Verify&) const = default;
};

struct RunnerProfile {
  std::vector<std::string> argv;  // with a preset: the agent's program, and what its command line gets beside the rest
  std::vector<std::string> env;   // names of the worker's variables that the agent may see, beside the usual ones
  // How many at once. Unset: one, or as many as the worker is told to run.
  std::optional<int> concurrency{};
  const agents::Preset* preset = nullptr;  // none: a program that speaks the exec protocol
  agents::Permissions permissions = agents::Permissions::kBypass;
  std::optional<Verify> verify{};
  std::vector<agents::OutputPattern> patterns{};  // what the output of a program that failed means
  WorkspaceProfile workspace{};
  bool reports_usage = false;  // of a command: what it says at its door that it used is booked

  bool operator==(const RunnerProfile&) const = default;
};

}  // namespace drover
