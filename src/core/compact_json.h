// One value of a task in compact JSON, both ways, as dumps and Redis keep it: times and durations are milliseconds,
// JSON texts are strings, so that they come back byte by byte. Each read() says whether the value was what it should
// be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "core/task_record.h"
#include "drover/task.h"

namespace drover::compact {

void write(json::Writer& out, const std::string& text);
void write(json::Writer& out, std::int64_t number);
void write(json::Writer& out, int number);
void write(json::Writer& out, bool value);
void write(json::Writer& out, Time time);
void write(json::Writer& out, Millis duration);
void write(json::Writer& out, const TaskId& id);
void write(json::Writer& out, TaskState state);
void write(json::Writer& out, OnParentFailure policy);
void write(json::Writer& out, DedupeMode mode);
void write(json::Writer& out, const RetryPolicy& policy);
void write(json::Writer& out, const TaskError& error);
void write(json::Writer& out, const Escalation& escalation);
void write(json::Writer& out, const Progress& progress);
void write(json::Writer& out, const LostRun& lost);
void write(json::Writer& out, const RunSettlement& settlement);

[[nodiscard]] bool read(const json::Value& value, std::string& text);
[[nodiscard]] bool read(const json::Value& value, std::int64_t& number);
[[nodiscard]] bool read(const json::Value& value, int& number);
[[nodiscard]] bool read(const json::Value& value, bool& flag);
[[nodiscard]] bool read(const json::Value& value, Time& time);
[[nodiscard]] bool read(const json::Value& value, Millis& duration);
[[nodiscard]] bool read(const json::Value& value, TaskId& id);
[[nodiscard]] bool read(const json::Value& value, TaskState& state);
[[nodiscard]] bool read(const json::Value& value, OnParentFailure& policy);
[[nodiscard]] bool read(const json::Value& value, DedupeMode& mode);
[[nodiscard]] bool read(const json::Value& value, RetryPolicy& policy);
[[nodiscard]] bool read(const json::Value& value, TaskError& error);
[[nodiscard]] bool read(const json::Value& value, Escalation& escalation);
[[nodiscard]] bool read(const json::Value& value, Progress& progress);
[[nodiscard]] bool read(const json::Value& value, LostRun& lost);
[[nodiscard]] bool read(const json::Value& value, RunSettlement& settlement);

template <class T>
[[nodiscard]] bool read(const json::Value& value, std::optional<T>& out) {
  return read(value, out.emplace());
}

}  // namespace drover::compact
