// Tasks as tools show them: short, and with every text that somebody else wrote cleaned and cut. What holds such a text
// says "untrusted": true.
#pragma once

#include <string>

#include "base/json.h"
#include "drover/task_queue.h"

namespace drover::mcp {

// How far it says that it is; 0 if it says nothing.
[[nodiscard]] int percent_of(const Task& task);
// A few members, for lists; without a result.
void write_summary(json::Writer& out, const Task& task);
// Members of an object that is open: what the summary has, and result and error.
void write_task(json::Writer& out, const Task& task);
void write_runs(json::Writer& out, std::span<const RunSummary> runs);
void write_explanation(json::Writer& out, const Explanation& explanation);

}  // namespace drover::mcp
