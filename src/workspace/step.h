// A step of a workspace in a process of its own: the worker starts it under the shim, like the agent itself, so that
// git ends with the lease.
#pragma once

#include <string>
#include <string_view>

namespace drover::workspace {

struct StepAnswer {
  int exit_code;     // 0; 65: the task's fault; 1: trouble of the machine; 2: not called as documented
  std::string json;  // the answer, or {"code", "message"}
};

// `name`: prepare {root, task_id, kind, repo, base}; set-up, finish, save or remove {root, task_id}; reap {root,
// completed_ms, failed_ms, bytes_max, unfinished: [TASK_ID, …], completed: […], failed: […]}.
[[nodiscard]] StepAnswer run_step(std::string_view name, const std::string& request);

// drover workspace-step NAME: the request on stdin, the answer as the last line of stdout. Not for people.
[[nodiscard]] int step_main(int argc, char** argv);

}  // namespace drover::workspace
