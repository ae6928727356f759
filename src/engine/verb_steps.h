// What one verb makes of one task, for the verb itself and for bulk operations.
#pragma once

#include <string>

#include "engine/cascade.h"

namespace drover {

struct VerbScene {
  RecordView& view;
  Rng& rng;
  const Policy& policy;
  Time now;
};

// No step if it was asked to stop before.
[[nodiscard]] Result<StepGroup> cancel_steps(const VerbScene& scene, const TaskRecord& record, const Verdict& verdict,
                                             CancelOutcome& outcome);
// These need the whole record.
[[nodiscard]] Result<StepGroup> retry_steps(const VerbScene& scene, const TaskRecord& record, const RetryOrder& order);
// No step if it is so already. The task afterwards in `edited`.
[[nodiscard]] Result<StepGroup> edit_steps(const VerbScene& scene, const TaskRecord& record, const EditOrder& order,
                                           Task& edited);
// Of a task that has ended, so that nothing follows for others: escalated or deleted.
[[nodiscard]] Result<StepGroup> steps_alone(const TaskRecord& record, const Trigger& trigger, Time now);

}  // namespace drover
