#include "engine/recent_reads.h"

#include <array>
#include <utility>

namespace drover {
namespace {

constexpr std::size_t kClaimedMax = 10'000;
constexpr std::size_t kRestingMax = 10'000;

constexpr auto kTexts = std::to_array<std::optional<std::string> Task::*>(
    {&Task::payload, &Task::prompt, &Task::system_prompt, &Task::model, &Task::agent_id, &Task::source,
     &Task::traceparent, &Task::fallback_result, &Task::checkpoint, &Task::result});

void swap_texts(Task& a, Task& b) {
  for (const auto text : kTexts) std::swap(a.*text, b.*text);
  std::swap(a.tags, b.tags);
  std::swap(a.depends_on, b.depends_on);
}

// Without the body, which may be large: it is put aside while the rest is copied.
TaskRecord head_of(TaskRecord& record) {
  Task aside;
  swap_texts(record.task, aside);
  TaskRecord head = record;
  swap_texts(record.task, aside);
  return head;
}

}  // namespace

void RecentReads::remember_claimed(TaskRecord& record) {
  const std::lock_guard lock(mutex_);
  if (claimed_.size() >= kClaimedMax) claimed_.erase(claimed_.begin());
  claimed_.insert_or_assign(record.task.id, head_of(record));
}

std::optional<TaskRecord> RecentReads::take_claimed(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  const auto found = claimed_.find(lease.task);
  if (found == claimed_.end()) return std::nullopt;
  std::optional<TaskRecord> record;
  if (found->second.lease == lease.id) record = std::move(found->second);
  claimed_.erase(found);
  return record;
}

void RecentReads::forget_claimed(const TaskId& id) {
  const std::lock_guard lock(mutex_);
  claimed_.erase(id);
}

void RecentReads::remember_resting(const std::string& gate, std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  if (resting_.size() >= kRestingMax) resting_.clear();
  resting_.insert_or_assign(gate, revision);
}

std::optional<std::int64_t> RecentReads::resting(const std::string& gate) {
  const std::lock_guard lock(mutex_);
  const auto found = resting_.find(gate);
  if (found == resting_.end()) return std::nullopt;
  return found->second;
}

void RecentReads::forget_resting(const std::string& gate) {
  const std::lock_guard lock(mutex_);
  resting_.erase(gate);
}

void RecentReads::forget_gates() {
  const std::lock_guard lock(mutex_);
  resting_.clear();
}

}  // namespace drover
