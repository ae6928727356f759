#include "engine/dedupe.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/try.h"
#include "engine/spec.h"

namespace drover {

// The record as the batch so far leaves it; the first reading of it stands, so that every decision of the batch and the
// revision that it is applied on agree.
TaskRecord Dedupe::current(const TaskRecord& record) {
  const TaskId& id = record.task.id;
  if (const TaskRecord* decided = cascade_.decided(id)) return *decided;
  if (!view_.contains(id)) view_.put(record);
  const auto found = view_.find(id, Parts::kHead);
  if (!found) return record;
  const std::optional<TaskRecord>& known = *found;
  return known ? *known : record;
}

Result<DedupeMatches*> Dedupe::matches(const Key& key) {
  const auto [it, is_new] = known_.try_emplace(key);
  if (!is_new) return &it->second;
  auto found = TRY(store_.find_dedupe(key.owner, key.type, key.key));
  DedupeGuard guard{key.owner, key.type, key.key, std::nullopt};
  std::optional<TaskRecord>& newest = found.newest;
  if (newest) {
    newest = current(*newest);
    guard.newest = newest->task.id;
  }
  guards_.push_back(std::move(guard));
  for (TaskRecord& record : found.unfinished) record = current(record);
  std::erase_if(found.unfinished, [](const TaskRecord& record) { return is_terminal(record.task.state); });
  it->second = std::move(found);
  return &it->second;
}

Result<std::optional<JsonText>> Dedupe::payload_of(const TaskId& id) {
  if (const auto it = payloads_.find(id); it != payloads_.end()) return it->second;
  auto read = TRY(store_.read(std::span(&id, 1), Parts::kAll));
  std::optional<TaskRecord>& record = read.front();
  if (!record) return std::nullopt;
  return std::move(record->task.payload);
}

Result<JsonText> Dedupe::merged(const TaskId& id, const JsonText& patch) {
  auto target = TRY(payload_of(id));
  return merge_patch(target, patch);
}

// The payload that the task gets instead of its own.
Result<std::optional<JsonText>> Dedupe::new_payload(const TaskId& id, const Task& incoming, DedupeMode mode) {
  if (mode != DedupeMode::kMerge) return contract_payload(policy_, incoming.type, incoming.payload);
  auto whole = TRY(merged(id, incoming.payload.value_or("{}")));
  auto payload = contract_payload(policy_, incoming.type, std::move(whole));
  if (payload) return payload;
  return fail(payload.error().code, fmt::format("merged into task {}: {}", id.to_string(), payload.error().message));
}

Result<TaskRecord> Dedupe::write(const TaskId& id, const Task& incoming, DedupeMode mode) {
  TaskRecord record;
  record.task.id = id;
  record = current(record);
  if (mode == DedupeMode::kMerge && !incoming.payload) return record;  // nothing to merge
  auto payload = TRY(new_payload(id, incoming, mode));
  payloads_[id] = payload;
  // What is known of it may be its head.
  auto stored = TRY(store_.read(std::span(&id, 1), Parts::kAll));
  if (const std::optional<TaskRecord>& whole = stored.front()) copy_body(whole->task, record.task);
  Step step{.next = record, .expected_revision = record.revision, .payload = Step::PayloadWrite::kReplace};
  step.next.task.payload = std::move(payload);
  json::Writer data;
  data.begin_object().key("dedupe").string(name_of(mode)).end_object();
  step.events.push_back({.name = "task.updated", .data = std::move(data).take()});
  cascade_.add(std::move(step));
  return record;
}

Result<std::optional<TaskRecord>> Dedupe::find(const TaskRecord& record, std::optional<Millis> window) {
  const std::optional<DedupeMode>& mode = record.task.dedupe;
  if (!mode) return std::nullopt;
  const auto known = TRY(matches(key_of(record.task)));
  const std::optional<TaskRecord>& newest = known->newest;
  const std::vector<TaskRecord>& unfinished = known->unfinished;
  const DedupeRequest request{*mode, window.value_or(kDedupeWindow), now_};
  const DedupeDecision decision = decide_dedupe(request, newest ? &*newest : nullptr, unfinished);
  if (const auto* writing = std::get_if<dedupe::Write>(&decision)) return write(writing->id, record.task, *mode);
  const auto* answer = std::get_if<dedupe::Answer>(&decision);
  if (answer == nullptr) return std::nullopt;
  if (newest && newest->task.id == answer->id) return *newest;
  return unfinished.front();
}

void Dedupe::made(const TaskRecord& record) {
  if (!record.task.dedupe) return;
  DedupeMatches& known = known_[key_of(record.task)];
  known.newest = record;
  if (!is_terminal(record.task.state)) known.unfinished.insert(known.unfinished.begin(), record);
  payloads_[record.task.id] = record.task.payload;
}

}  // namespace drover
