// Starting a shim with its agent: posix_spawn, pipes that close on exec, a pidfd.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "drover/error.h"

namespace drover {

struct AgentCommand {
  std::string shim_program = "/proc/self/exe";  // called as PROGRAM shim …
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::string folder{};                  // where it runs; empty: where this process does
  MonoTime expires_at;
  Millis lease{0};
};

// A child that is no shim: in a session of its own, its output goes nowhere. `in` is the far end of its input.
struct Helper {
  pid_t pid = -1;
  UniqueFd in;
};

// A running shim and this side of its pipes, all non-blocking.
struct ShimProcess {
  pid_t pid = -1;
  UniqueFd pidfd;
  UniqueFd control;
  UniqueFd status;
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
};

[[nodiscard]] Result<ShimProcess> start_shim(const AgentCommand& command);

[[nodiscard]] Result<Helper> start_helper(std::vector<std::string> argv);
// Kills it, and takes its status away.
void end_helper(pid_t pid);

// A process that runs shims is a sub-reaper and starts no other children but helpers: what else turns up among its
// children was beneath a shim that was killed.
void become_subreaper();
// Kills such orphans and takes away the dead. Returns how many there were: each may leave another, so ask again until
// none.
[[nodiscard]] std::size_t kill_orphans();

// Whether it has ended, and if so takes its status away. A pidfd that wakes is only a hint.
[[nodiscard]] bool has_ended(const ShimProcess& shim);

// Makes a shim that was stopped go on: an agent can stop its supervisor, but not keep it so.
void wake_shim(const ShimProcess& shim);
void kill_shim(const ShimProcess& shim);

}  // namespace drover
