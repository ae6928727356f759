#include "engine/recent_reads.h"

#include <utility>

#include "core/task_fields.h"

namespace drover {
namespace {

constexpr std::size_t kClaimedMax = 10'000;
constexpr std::size_t kRestingMax = 10'000;

void swap_bodies(Task& a, Task& b) {
  visit_task_fields([&](auto field) {
    if constexpr (field.kIs.is_large()) std::swap(field.of(a), field.of(b));
  });
}

// Without the body, which may be large: it is put aside while the rest is copied.
TaskRecord head_of(TaskRecord& record) {
  Task aside;
  swap_bodies(record.task, aside);
  TaskRecord head = record;
  swap_bodies(record.task, aside);
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
