// What this engine knows of the store without asking: the records of tasks that it handed out, and which gates were at
// rest when it last looked.
//
// Only a first guess: every decision is applied under compare-and-set, and one that was based on something that has
// moved is made again from what the store says. So a settlement usually costs one call of the store instead of three.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/task_record.h"

namespace drover {

// Safe from any thread. Bounded: what does not fit is read again.
class RecentReads {
 public:
  void remember_claimed(TaskRecord& record);  // leaves it as it is
  // The record as it was claimed, if this lease is the one it was claimed under. It is forgotten by this.
  [[nodiscard]] std::optional<TaskRecord> take_claimed(const Lease& lease);
  // It said something of itself since, which moves no revision.
  void forget_claimed(const TaskId& id);

  void remember_resting(const std::string& gate, std::int64_t revision);
  [[nodiscard]] std::optional<std::int64_t> resting(const std::string& gate);
  void forget_resting(const std::string& gate);
  void forget_gates();

 private:
  std::mutex mutex_;
  std::unordered_map<TaskId, TaskRecord> claimed_;         // heads
  std::unordered_map<std::string, std::int64_t> resting_;  // gate -> revision
};

}  // namespace drover
