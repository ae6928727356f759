// What is known of a run of real processes once it is over, from three sides: what the clients were told, what the
// tasks themselves wrote down, and what the store says at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drover/task_queue.h"

namespace drover::history {

// One call of a client. What it asked for may have happened at any time between the two; a call without an answer
// (kUnknown) may have taken effect at any later time, or never.
struct Call {
  enum class Verb : std::uint8_t { kEnqueue, kCancel, kRetry };
  enum class Answer : std::uint8_t { kOk, kRefused, kUnknown };

  Verb verb = Verb::kEnqueue;
  TaskId task;
  MonoTime invoked_at;
  MonoTime answered_at;
  Answer answer = Answer::kUnknown;
  std::optional<TaskState> state;  // what an ok said the task had become
};

// One line of the file that the tasks append to: the only witness that is not Drover.
struct Sighting {
  enum class Kind : std::uint8_t { kStart, kStop };

  TaskId task;
  int run = 0;
  Kind kind = Kind::kStart;
  int pid = 0;
  MonoTime at;
};

// What `drover list --json` says of a task.
struct FinalTask {
  TaskId id;
  TaskState state = TaskState::kPending;
  int run = 0;
  int generation = 1;
  bool fallback = false;
  std::optional<TaskId> parent_id;
};

// What `drover events --json` says.
struct LoggedEvent {
  std::int64_t seq = 0;
  std::string name;
  TaskId task;
  TaskState state = TaskState::kPending;
  int run = 0;
  int generation = 1;
};

struct History {
  std::vector<Call> calls;
  std::vector<Sighting> sightings;
  std::vector<FinalTask> tasks;
  std::vector<LoggedEvent> events;  // in the order in which they were read
};

}  // namespace drover::history
