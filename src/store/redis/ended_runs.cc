#include "store/redis/ended_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/lane.h"
#include "core/task_fields.h"
#include "store/redis/inner_result.h"
#include "store/redis/record_text.h"
#include "store/redis/run_text.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

// Whether the new record is all that the end of a run writes of its task.
bool ends_plainly(const Step& step) {
  const Task& task = step.next.task;
  const std::size_t result_bytes = task.result ? task.result->size() : 0;
  const bool only_ends = step.guard == Step::Guard::kRevision && !step.writes_body() &&
                         step.fate == Step::Fate::kStays && step.events.size() == 1;
  return !step.next.kept.head.empty() && step.expected_revision > 0 && is_terminal(task.state) && step.run_end &&
         !step.run_end->revoked && step.ledger.empty() && !step.spend && result_bytes <= kInnerResultBytesMax &&
         only_ends && is_bare_beside(step.next, [](auto field) {
           return is_left_at_end(field) ||
                  field.template is<&Task::state, &Task::finished_at, &Task::stalls, &Task::defers, &Task::generation,
                                    &Task::worker_id, &Task::cancel_requested_at, &Task::result, &Task::fallback,
                                    &Task::error, &Task::exit_code, &Task::escalation, &Task::cancel_reason,
                                    &TaskRecord::ended_by, &TaskRecord::revision, &TaskRecord::lease,
                                    &TaskRecord::lease_beats, &TaskRecord::lost>();
         });
}

bool only_checks(const GateStep& gate) {
  return !gate.next && gate.events.empty();
}

bool ends_plainly(const StepGroup& group) {
  return !group.capacity && group.dedupes.empty() && !group.document && group.steps.size() == 1 &&
         ends_plainly(group.steps.front()) && group.gates.size() <= 1 && std::ranges::all_of(group.gates, only_checks);
}

}  // namespace

std::optional<EndedRun> as_ended_run(const StepGroup& group) {
  if (!ends_plainly(group)) return std::nullopt;
  const Step& step = group.steps.front();
  const Task& task = step.next.task;
  const RunEnd end = step.run_end.value_or(RunEnd{});
  const RecordHead head = head_of(step.next.kept);
  const std::string result = step.result == Step::ResultWrite::kReplace ? task.result.value_or("") : "";

  EndedRun run;
  run.shared = {.lane = lane_name(task), .state = name_of(task.state), .gate = {}};
  if (!group.gates.empty()) {
    run.shared.gate = group.gates.front().name;
    run.shared.gate_revision = group.gates.front().expected_revision;
  }
  run.id = task.id.to_string();
  run.was = step.next.kept.head;
  run.place = head.place;
  run.bytes_before = head.bytes;
  run.bytes_after = head.bytes + static_cast<std::int64_t>(result.size());
  run.record =
      fmt::format("{} {} {} {} 0 0 {} {}\n{}|{}|{}|{}\n{}", step.expected_revision + 1, head.seq, head.place,
                  run.bytes_after, result.empty() ? "e" : "se", to_said(step.next, run.shared.lane), head.worker,
                  head.started, time_text(end.ended_at), run_end_text(end, task.run, task.generation), result);
  run.event = event_text(step.events.front(), event_subject(task, kAnyTask, run.shared.lane));
  return run;
}

void add_to(Command& command, std::span<const EndedRun* const> runs) {
  while (!runs.empty()) {
    const EndedRun::Shared& shared = runs.front()->shared;
    const auto others = std::ranges::find_if(runs, [&](const EndedRun* run) { return run->shared != shared; });
    const auto together = runs.first(static_cast<std::size_t>(others - runs.begin()));
    std::int64_t before = 0;
    std::int64_t after = 0;
    for (const EndedRun* run : together) {
      before += run->bytes_before;
      after += run->bytes_after;
    }
    command.add(shared.lane, shared.state, shared.gate, shared.gate_revision, before, after, together.size());
    std::string_view event;
    for (const EndedRun* run : together) {
      command.add(run->id, run->was, run->record, run->event == event ? "" : run->event, run->place);
      event = run->event;
    }
    runs = runs.subspan(together.size());
  }
}

}  // namespace drover::redis
