// What `drover logs` and `drover transcript` share: reading a task's log page by page, until the task ends if so
// wished.
#pragma once

#include <functional>
#include <optional>

#include "cli/context.h"
#include "cli/options.h"
#include "cli/verb.h"

namespace drover::cli {

struct LogFollowOptions {
  TaskId id;
  std::optional<int> run;  // only this one
  bool follow = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, LogFollowOptions& options);

// Calls `print` with each record of the runs that are asked for, oldest first. Says where something was left out and,
// to people, where another run begins. kNotFound: the task or the run does not exist.
[[nodiscard]] Status follow_log(const LogFollowOptions& options, Context& context,
                                const std::function<void(const LogRecord&)>& print);

}  // namespace drover::cli
