#include "engine/dedupe.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"

namespace drover {

// The record as the batch so far leaves it; the first reading of it stands, so that every decision of the batch and the
// revision that it is applied on agree.
TaskRecord Dedupe::current(const TaskRecord& record) {
  const TaskId& id = record.task.id;
  if (const TaskRecord* decided = cascade_.decided(id)) return *decided;
  if (!view_.contains(id)) view_.put(record);
  const auto known = view_.find(id, Parts::kHead);
  return known && *known ? **known : record;
}

Result<DedupeMatches*> Dedupe::matches(const Task& task) {
  const auto [it, is_new] = known_.try_emplace(key_of(task));
  if (!is_new) return &it->second;
  auto found = store_.find_dedupe(task.owner, task.type, *task.dedupe_key);
  if (!found) return std::unexpected(found.error());
  if (found->newest) found->newest = current(*found->newest);
  for (TaskRecord& record : found->unfinished) record = current(record);
  std::erase_if(found->unfinished, [](const TaskRecord& record) { return is_terminal(record.task.state); });
  guards_.push_back(
      {task.owner, task.type, *task.dedupe_key, found->newest ? std::optional(found->newest->task.id) : std::nullopt});
  it->second = std::move(*found);
  return &it->second;
}

Result<std::optional<JsonText>> Dedupe::payload_of(const TaskId& id) {
  if (const auto it = payloads_.find(id); it != payloads_.end()) return it->second;
  auto read = store_.read(std::span(&id, 1), Parts::kAll);
  if (!read) return std::unexpected(read.error());
  if (!read->front()) return std::nullopt;
  return std::move(read->front()->task.payload);
}

Result<TaskRecord> Dedupe::write(const TaskId& id, const TaskRecord& incoming) {
  const TaskRecord* decided = cascade_.decided(id);
  std::optional<TaskRecord> record = decided != nullptr ? std::optional(*decided) : std::nullopt;
  if (!record) {
    auto found = view_.find(id, Parts::kHead);
    if (!found) return std::unexpected(found.error());
    record = std::move(*found);
  }
  CHECK(record.has_value());
  std::optional<JsonText> payload = incoming.task.payload;
  if (incoming.task.dedupe == DedupeMode::kMerge) {
    // Without a payload there is nothing to merge.
    if (!payload) return std::move(*record);
    auto target = payload_of(id);
    if (!target) return std::unexpected(target.error());
    payload = merge_patch(*target, *payload);
    if (payload->size() > static_cast<std::size_t>(limits_.payload_bytes)) {
      return fail(ErrorCode::kPayloadTooLarge,
                  fmt::format("payload: merged into task {} it has {} bytes; at most {} are "
                              "taken",
                              id.to_string(), payload->size(), limits_.payload_bytes));
    }
  }
  payloads_[id] = payload;
  Step step{.next = *record, .expected_revision = record->revision, .payload = Step::PayloadWrite::kReplace};
  step.next.task.payload = std::move(payload);
  json::Writer data;
  data.begin_object().key("dedupe").string(name_of(*incoming.task.dedupe)).end_object();
  step.events.push_back({.name = "task.updated", .data = std::move(data).take()});
  cascade_.add(std::move(step));
  return std::move(*record);
}

Result<std::optional<TaskRecord>> Dedupe::find(const TaskRecord& record, std::optional<Millis> window) {
  if (!record.task.dedupe_key) return std::nullopt;
  auto known = matches(record.task);
  if (!known) return std::unexpected(known.error());
  const TaskRecord* newest = (*known)->newest ? &*(*known)->newest : nullptr;
  const DedupeRequest request{*record.task.dedupe, window.value_or(kDedupeWindow), now_};
  const DedupeDecision decision = decide_dedupe(request, newest, (*known)->unfinished);
  if (const auto* writing = std::get_if<dedupe::Write>(&decision)) return write(writing->id, record);
  const auto* answer = std::get_if<dedupe::Answer>(&decision);
  if (answer == nullptr) return std::nullopt;
  if (newest->task.id == answer->id) return *newest;
  return (*known)->unfinished.front();
}

void Dedupe::made(const TaskRecord& record) {
  if (!record.task.dedupe_key) return;
  DedupeMatches& known = known_[key_of(record.task)];
  known.newest = record;
  if (!is_terminal(record.task.state)) known.unfinished.insert(known.unfinished.begin(), record);
  payloads_[record.task.id] = record.task.payload;
}

}  // namespace drover
