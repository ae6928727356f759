// Dedupe at enqueue: what is there already, in the store and in the batch so far.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "core/dedupe.h"
#include "engine/cascade.h"

namespace drover {

class Dedupe {
 public:
  // All outlive it. Steps that write a payload go to the cascade.
  Dedupe(Store& store, RecordView& view, Cascade& cascade, const Policy& policy, Time now)
      : store_(store), view_(view), cascade_(cascade), policy_(policy), now_(now) {}

  // The task that stands for this new one, with its payload written if the mode says so; none: make it.
  [[nodiscard]] Result<std::optional<TaskRecord>> find(const TaskRecord& record, std::optional<Millis> window);
  // The task was made.
  void made(const TaskRecord& record);
  // What must still be so when the batch is stored.
  [[nodiscard]] std::vector<DedupeGuard> take_guards() { return std::move(guards_); }

 private:
  struct Key {
    std::string owner;
    std::string type;
    std::string key;

    auto operator<=>(const Key&) const = default;
  };

  static Key key_of(const Task& task) { return {task.owner, task.type, task.dedupe_key.value_or("")}; }
  Result<DedupeMatches*> matches(const Key& key);
  TaskRecord current(const TaskRecord& record);
  Result<TaskRecord> write(const TaskId& id, const Task& incoming, DedupeMode mode);
  Result<std::optional<JsonText>> new_payload(const TaskId& id, const Task& incoming, DedupeMode mode);
  Result<JsonText> merged(const TaskId& id, const JsonText& patch);
  Result<std::optional<JsonText>> payload_of(const TaskId& id);

  Store& store_;
  RecordView& view_;
  Cascade& cascade_;
  const Policy& policy_;
  Time now_;
  std::map<Key, DedupeMatches> known_;                  // as the batch so far leaves them
  std::map<TaskId, std::optional<JsonText>> payloads_;  // of tasks that this batch made or wrote
  std::vector<DedupeGuard> guards_;
};

}  // namespace drover
