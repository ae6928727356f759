// A step of a workspace in a process of its own: the worker starts it under the shim, like the agent itself, so that
// git ends with the lease.
#pragma once

#include <string>
#include <string_view>

#include "workspace/workspace.h"

namespace drover::workspace {

// The answer of set-up: it has nothing to say.
struct Marked {};

// What a step that did not succeed says.
struct StepError {
  std::string code;
  std::string message;
};

// The answers of steps that succeeded, and that of one that did not.
[[nodiscard]] Status read_json(std::string_view json, Prepared& out);
[[nodiscard]] Status read_json(std::string_view json, Marked& out);
[[nodiscard]] Status read_json(std::string_view json, Inspected& out);
[[nodiscard]] Status read_json(std::string_view json, Finished& out);
[[nodiscard]] Status read_json(std::string_view json, Reaped::Kept& out);
[[nodiscard]] Status read_json(std::string_view json, Reaped& out);
[[nodiscard]] Status read_json(std::string_view json, StepError& out);

struct StepAnswer {
  int exit_code;     // 0; 65: the task's fault; 1: trouble of the machine; 2: not called as documented
  std::string json;  // the answer, or {"code", "message"}
};

// `name`: prepare {root, task_id, kind, repo, base}; set-up, finish or remove {root, task_id}; inspect {root, task_id,
// argv}; reap {root, completed_ms, failed_ms, bytes_max, unfinished: [TASK_ID, …], completed: […], failed: […]}.
[[nodiscard]] StepAnswer run_step(std::string_view name, const std::string& request);

// drover workspace-step NAME: the request on stdin, the answer as the last line of stdout. Not for people.
[[nodiscard]] int step_main(int argc, char** argv);

}  // namespace drover::workspace
