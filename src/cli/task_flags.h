// The options that describe one task, for the verbs that make one.
#pragma once

#include <optional>
#include <string>

#include "cli/verb.h"
#include "drover/task.h"

namespace drover::cli {

// read_task of task_input.h reads and checks the values that are JSON.
struct TaskArguments {
  TaskSpec spec;
  std::optional<std::string> payload;    // JSON, @file, or - for stdin
  std::optional<std::string> fallback;   // JSON
  std::optional<std::string> bootstrap;  // KEY=TEXT

  bool operator==(const TaskArguments&) const = default;
};

void define_task(Verb& verb, TaskArguments* task);

}  // namespace drover::cli
