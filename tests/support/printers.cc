#include "support/printers.h"

#include <ostream>

#include "core/task_json.h"
#include "core/task_record.h"

namespace drover {

void PrintTo(ErrorCode code, std::ostream* out) {
  *out << error_info(code).name;
}

void PrintTo(const Error& error, std::ostream* out) {
  *out << to_string(error);
}

void PrintTo(TaskState state, std::ostream* out) {
  *out << name_of(state);
}

void PrintTo(ErrorClass error_class, std::ostream* out) {
  *out << name_of(error_class);
}

void PrintTo(LeaseState state, std::ostream* out) {
  switch (state) {
    case LeaseState::kHeld:
      *out << "held";
      return;
    case LeaseState::kCancelRequested:
      *out << "cancel_requested";
      return;
    case LeaseState::kLost:
      *out << "lost";
      return;
  }
}

void PrintTo(const TaskId& id, std::ostream* out) {
  *out << id.to_string();
}

void PrintTo(const Settled& settled, std::ostream* out) {
  *out << name_of(settled.state);
  if (settled.replayed) *out << ", replayed: " << *settled.replayed;
}

void PrintTo(const Task& task, std::ostream* out) {
  *out << to_json(task);
}

void PrintTo(const Event& event, std::ostream* out) {
  *out << to_json(event);
}

void PrintTo(const RunSummary& run, std::ostream* out) {
  *out << to_json(run);
  if (run.settlement) *out << " settled " << to_text(*run.settlement);
}

void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.code << ": " << finding.detail;
}

}  // namespace drover
