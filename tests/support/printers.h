// How GoogleTest shows our values when an expectation fails. Include it wherever these types are compared.
#pragma once

#include <iosfwd>

#include "drover/error.h"
#include "drover/ids.h"
#include "drover/task_queue.h"

namespace drover {

void PrintTo(ErrorCode code, std::ostream* out);
void PrintTo(const Error& error, std::ostream* out);
void PrintTo(TaskState state, std::ostream* out);
void PrintTo(ErrorClass error_class, std::ostream* out);
void PrintTo(const Settled& settled, std::ostream* out);
void PrintTo(LeaseState state, std::ostream* out);
void PrintTo(const TaskId& id, std::ostream* out);
void PrintTo(const Task& task, std::ostream* out);
void PrintTo(const Event& event, std::ostream* out);
void PrintTo(const RunSummary& run, std::ostream* out);
void PrintTo(const Finding& finding, std::ostream* out);

}  // namespace drover
