// Records in every state, as the rules would have left them, and a short way to decide on them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/transition.h"
#include "hooks/test_hooks.h"

namespace drover::testing {

inline constexpr Time kCreated{Millis{1'800'000'000'000}};
inline constexpr Time kNow = kCreated + std::chrono::minutes(10);
inline constexpr DecisionContext kContext{.now = kNow, .unit = 0.5};

inline constexpr std::array kAllStates{TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                       TaskState::kRunning, TaskState::kStalled,   TaskState::kCompleted,
                                       TaskState::kFailed,  TaskState::kCancelled};

inline TaskId task_id(std::uint8_t n) {
  TaskId::Bytes bytes{};
  bytes[15] = n;
  return TaskId(bytes);
}

inline LeaseId lease_id(std::uint8_t n) {
  LeaseId::Bytes bytes{};
  bytes[0] = n;
  return LeaseId(bytes);
}

// Has every body field set, so that a test sees if one is lost.
inline TaskRecord new_record() {
  TaskRecord record;
  record.revision = 7;
  record.place = 42;
  record.dependents = 2;
  record.children = 3;
  record.depth = 1;
  record.request_hash = "hash";
  Task& task = record.task;
  task.id = task_id(1);
  task.type = "eng";
  task.queue = "q";
  task.owner = "o";
  task.payload = R"({"a":0.10})";
  task.prompt = "p";
  task.system_prompt = "s";
  task.model = "m";
  task.repo = "site";
  task.base = "main";
  task.agent_id = "agent";
  task.source = "src";
  task.traceparent = "tp";
  task.checkpoint = R"({"step":1})";
  task.tags = {"x", "y"};
  task.depends_on = {task_id(8), task_id(9)};
  task.parent_id = task_id(2);
  task.request_id = "r";
  task.created_at = kCreated;
  return record;
}

inline TaskRecord record_in(TaskState state) {
  TaskRecord record = new_record();
  Task& task = record.task;
  task.state = state;
  if (state == TaskState::kBlocked) record.unmet_parents = 1;
  if (state == TaskState::kScheduled) task.run_at = kNow;
  if (state == TaskState::kRunning || state == TaskState::kStalled) {
    task.run = 1;
    task.started_at = kCreated + Millis{1};
  }
  if (state == TaskState::kStalled) task.stalls = 1;
  if (state == TaskState::kRunning) {
    task.attempts = 1;
    task.worker_id = "host:1:w";
    task.progress = Progress{10, "on it"};
    record.lease = lease_id(5);
    record.lease_beats = 3;
  }
  if (is_terminal(state)) task.finished_at = kNow - Millis{1};
  return record;
}

inline TaskRecord cancel_requested_record() {
  TaskRecord record = record_in(TaskState::kRunning);
  record.task.cancel_requested_at = kNow - Millis{5};
  record.task.cancel_reason = "enough";
  return record;
}

// Ended by the end of its parent task_id(9).
inline TaskRecord record_ended_by_parent(TaskState state) {
  TaskRecord record = record_in(state);
  record.ended_by = task_id(9);
  return record;
}

inline Step must(const TaskRecord& record, const Trigger& trigger, const DecisionContext& context = kContext) {
  auto step = decide(record, trigger, context);
  if (!step) {
    ADD_FAILURE() << name_of(trigger) << " was refused: " << step.error().message;
    return {};
  }
  return *step;
}

inline Error refused(const TaskRecord& record, const Trigger& trigger) {
  auto step = decide(record, trigger, kContext);
  if (step) {
    ADD_FAILURE() << name_of(trigger) << " was accepted: " << name_of(step->next.task.state);
    return {};
  }
  return step.error();
}

inline std::vector<std::string> event_names(const Step& step) {
  std::vector<std::string> names;
  for (const EventDraft& event : step.events) names.push_back(event.name);
  return names;
}

inline Trigger failure(ErrorClass error_class, std::string message = "boom") {
  return trigger::Fail{{.error_class = error_class, .message = std::move(message), .exit_code = 3, .note = "try less"}};
}

// Plants a bug while it lives.
class Planted {
 public:
  explicit Planted(PlantedBug bug) { plant(bug); }
  ~Planted() { plant(PlantedBug::kNone); }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

}  // namespace drover::testing
