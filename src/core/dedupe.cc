#include "core/dedupe.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/sha256.h"

namespace drover {
namespace {

using json::Value;

Value parsed(std::string_view json) {
  auto value = json::parse(json);
  CHECK(value.has_value());
  return std::move(*value);
}

Value sorted(Value value) {
  if (const Value::Array* items = value.as_array()) {
    Value::Array out;
    for (const Value& item : *items) out.push_back(sorted(item));
    return out;
  }
  if (const Value::Object* members = value.as_object()) {
    Value::Object out;
    for (const auto& [key, member] : *members) out.emplace_back(key, sorted(member));
    std::ranges::sort(out, {}, &Value::Member::first);
    return out;
  }
  return value;
}

Value patched(const Value& target, const Value& patch) {
  const Value::Object* changes = patch.as_object();
  if (changes == nullptr) return patch;
  Value::Object out;
  if (const Value::Object* members = target.as_object()) out = *members;
  for (const auto& [key, change] : *changes) {
    const auto member = std::ranges::find(out, key, &Value::Member::first);
    if (change.is_null()) {
      if (member != out.end()) out.erase(member);
    } else if (member != out.end()) {
      member->second = patched(member->second, change);
    } else {
      out.emplace_back(key, patched({}, change));
    }
  }
  return out;
}

const TaskRecord* find_if(std::span<const TaskRecord> records, bool (*condition)(const Task&)) {
  const auto found = std::ranges::find_if(records, condition, &TaskRecord::task);
  return found != records.end() ? &*found : nullptr;
}

bool has_not_started(const Task& task) {
  return task.run == 0;
}

bool is_waiting(const Task& task) {
  return task.state != TaskState::kRunning;
}

DedupeDecision answer(const TaskRecord* record) {
  if (record == nullptr) return dedupe::MakeNew{};
  return dedupe::Answer{record->task.id};
}

DedupeDecision write(const TaskRecord* record) {
  if (record == nullptr) return dedupe::MakeNew{};
  return dedupe::Write{record->task.id};
}

}  // namespace

JsonText canonical_json(std::string_view json) {
  return json::dump(sorted(parsed(json)));
}

std::string default_dedupe_key(std::string_view type, const std::optional<JsonText>& payload) {
  json::Writer out;
  out.begin_array().string(type).raw(payload ? canonical_json(*payload) : "null").end_array();
  return sha256_hex(std::move(out).take());
}

JsonText merge_patch(const std::optional<JsonText>& target, std::string_view patch) {
  return json::dump(patched(target ? parsed(*target) : Value(), parsed(patch)));
}

DedupeDecision decide_dedupe(const DedupeRequest& request, const TaskRecord* newest,
                             std::span<const TaskRecord> unfinished) {
  switch (request.mode) {
    case DedupeMode::kSingleFlight:
      return answer(unfinished.empty() ? nullptr : &unfinished.front());
    case DedupeMode::kDrop:
      // One from the future is not of the window either: the clock has been set back since.
      return answer(newest != nullptr && std::chrono::abs(request.now - newest->task.created_at) < request.window
                        ? newest
                        : nullptr);
    case DedupeMode::kMerge:
    case DedupeMode::kReplace:
      return write(find_if(unfinished, has_not_started));
    case DedupeMode::kKeepLatest:
      return write(find_if(unfinished, is_waiting));
  }
  std::unreachable();
}

}  // namespace drover
