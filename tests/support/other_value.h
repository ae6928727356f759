// Another value for any field of a task, so that a test may go through the list of fields and knows none of them.
#pragma once

#include <string>
#include <vector>

#include "core/task_fields.h"

namespace drover::test {

inline void make_other(bool& value) {
  value = !value;
}
inline void make_other(int& value) {
  ++value;
}
inline void make_other(std::int64_t& value) {
  ++value;
}
inline void make_other(Time& value) {
  value += Millis{1'001};
}
inline void make_other(Millis& value) {
  value += Millis{7};
}
inline void make_other(std::string& value) {
  value += "1";
}
inline void make_other(std::vector<std::string>& value) {
  value.emplace_back("lock:other");
}
inline void make_other(TaskId& value) {
  TaskId::Bytes bytes = value.bytes();
  bytes[3] ^= 9;
  value = TaskId(bytes);
}
inline void make_other(std::vector<TaskId>& value) {
  make_other(value.emplace_back());
}
inline void make_other(LeaseId& value) {
  LeaseId::Bytes bytes = value.bytes();
  bytes[3] ^= 9;
  value = LeaseId(bytes);
}
inline void make_other(TaskState& value) {
  value = value == TaskState::kFailed ? TaskState::kPending : TaskState::kFailed;
}
inline void make_other(OnParentFailure& value) {
  value = value == OnParentFailure::kRun ? OnParentFailure::kFail : OnParentFailure::kRun;
}
inline void make_other(DedupeMode& value) {
  value = value == DedupeMode::kDrop ? DedupeMode::kMerge : DedupeMode::kDrop;
}
inline void make_other(RetryPolicy& value) {
  value.base += Millis{3};
}
inline void make_other(TaskError& value) {
  value = {ErrorClass::kOom, value.message + "!"};
}
inline void make_other(Escalation& value) {
  value = {.to = value.to + "ada", .by = "bob", .why = "look", .at = value.at + Millis{1'001}};
}
inline void make_other(Progress& value) {
  value = {.percent = value.percent + 1, .message = value.message + "m"};
}
inline void make_other(LostRun& value) {
  ++value.run;
  make_other(value.lease);
}
template <class T>
void make_other(std::optional<T>& value) {
  make_other(value ? *value : value.emplace());
}

template <class Field>
void make_other(Field field, TaskRecord& record) {
  make_other(field.of(record));
}

}  // namespace drover::test
