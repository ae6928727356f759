// How dead letters look to people, and which columns programs get.
#pragma once

#include <span>
#include <string>

#include "cli/table.h"
#include "drover/task_queue.h"

namespace drover::cli {

[[nodiscard]] Table group_table(std::span<const ErrorGroup> groups, Time now);
[[nodiscard]] Table dead_letter_table(std::span<const Task> tasks, Time now);

// One run, and the end of what it wrote.
struct RunWithOutput {
  RunSummary run;
  std::string output_tail;
};

// A dead letter with everything that was tried.
[[nodiscard]] std::string dead_letter_page(const Task& task, std::span<const RunWithOutput> runs, Time now,
                                           const Look& look);
[[nodiscard]] std::string dead_letter_json(const Task& task, std::span<const RunWithOutput> runs);

}  // namespace drover::cli
