#include "engine/sweepers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/planted_bug.h"
#include "engine/cascade.h"

namespace drover {

namespace {

constexpr int kPassMax = 256;  // tasks per sweeper and pass
constexpr Millis kHousekeepingEvery{60'000};
constexpr Millis kForgetAfter{300'000};  // a registration outlives its worker by this, and by its last lease

}  // namespace

Result<int> Sweepers::sweep(Result<std::vector<TaskRecord>> records, const Decide& decide) {
  if (!records) return std::unexpected(records.error());
  if (records->empty()) return 0;
  auto policy = engine_.policy();
  if (!policy) return std::unexpected(policy.error());
  auto now = engine_.time_of_end();
  if (!now) return std::unexpected(now.error());

  RecordView view(engine_.store_);
  std::vector<StepGroup> groups;
  for (TaskRecord& record : *records) {
    // An earlier record's cascade may have reached this one: then it is decided on, and not ours any more.
    if (view.contains(record.task.id)) continue;
    Cascade cascade(view, engine_.rng_, **policy, *now);
    if (auto status = decide(cascade, record); !status) {
      log_error("engine", "sweeper cannot decide on a task",
                {{"task", record.task.id.to_string()}, {"error", to_string(status.error())}});
      continue;
    }
    groups.push_back(cascade.take());
  }
  if (groups.empty()) return 0;
  auto applied = engine_.store_.apply(groups);
  if (!applied) return std::unexpected(applied.error());
  return static_cast<int>(std::ranges::count(*applied, Applied::kDone));
}

Result<int> Sweepers::promote(int limit) {
  return sweep(engine_.store_.due(limit),
               [](Cascade& cascade, const TaskRecord& record) { return cascade.run(record, trigger::Due{}); });
}

Result<int> Sweepers::enforce_deadlines(int limit) {
  auto late = engine_.store_.past_deadline(limit);
  if (late && planted(PlantedBug::kDeadlineIgnoresRunning)) {
    std::erase_if(*late, [](const TaskRecord& record) { return record.task.state == TaskState::kRunning; });
  }
  return sweep(std::move(late),
               [](Cascade& cascade, const TaskRecord& record) { return cascade.run(record, trigger::Deadline{}); });
}

Result<int> Sweepers::reclaim(std::optional<Millis> silent_for, int limit) {
  return sweep(engine_.store_.lapsed(silent_for, limit),
               [](Cascade& cascade, const TaskRecord& record) { return cascade.run(record, trigger::LeaseLost{}); });
}

Result<int> Sweepers::resume_cascades(int limit) {
  return sweep(engine_.store_.cascades(limit),
               [](Cascade& cascade, const TaskRecord& record) { return cascade.resume(record); });
}

Result<int> Sweepers::expire(const StoreClocks& clocks, int limit) {
  auto policy = engine_.policy();
  if (!policy) return std::unexpected(policy.error());
  const Limits& limits = (*policy)->limits;
  Retention retention{.tasks_max = limits.retention_tasks,
                      .bytes_max = limits.retention_bytes,
                      .events_max = limits.event_retention_count};
  if (clocks.unsure < kStepMin / 2) {
    const auto believed = engine_.look_at_clocks(clocks);
    if (!believed) return std::unexpected(believed.error());
    retention.finished_until = end_of_age(*believed, limits.retention);
    retention.events_until = end_of_age(*believed, limits.event_retention);
  }
  return engine_.store_.expire(retention, limit);
}

Status Sweepers::keep_house(const StoreClocks& clocks, SweepReport& report) {
  const bool is_due = !last_housekeeping_ || step_between(*last_housekeeping_, clocks) != Millis{0} ||
                      clocks.steady - last_housekeeping_->steady >= kHousekeepingEvery;
  if (!is_due) return {};
  auto expired = expire(clocks, kPassMax);
  if (!expired) return std::unexpected(expired.error());
  auto gone = engine_.store_.forget_workers(kForgetAfter);
  if (!gone) return std::unexpected(gone.error());
  for (const std::string& id : *gone) log_warn("engine", "worker is gone", {{"worker", id}});
  report.expired = *expired;
  report.workers_gone = static_cast<int>(gone->size());
  if (*expired < kPassMax) last_housekeeping_ = clocks;
  return {};
}

Result<SweepReport> Sweepers::run_once() {
  SweepReport report;
  const auto take = [&](Result<int> moved, int& count) -> Status {
    if (!moved) return std::unexpected(moved.error());
    count = *moved;
    report.more = report.more || *moved >= kPassMax;
    return {};
  };
  // Deadlines first: a task that is due and late at once ends, it does not start.
  if (auto status = take(enforce_deadlines(kPassMax), report.deadlines); !status)
    return std::unexpected(status.error());
  if (auto status = take(reclaim(std::nullopt, kPassMax), report.reclaimed); !status)
    return std::unexpected(status.error());
  if (auto status = take(promote(kPassMax), report.promoted); !status) return std::unexpected(status.error());
  if (auto status = take(resume_cascades(kPassMax), report.cascades); !status) return std::unexpected(status.error());
  auto woken = engine_.store_.wake_gates();
  if (!woken) return std::unexpected(woken.error());
  report.woken = *woken;
  if (auto status = keep_watch(report); !status) return std::unexpected(status.error());
  return report;
}

Result<SweepReport> Sweepers::keep_watch() {
  SweepReport report;
  if (auto status = keep_watch(report); !status) return std::unexpected(status.error());
  return report;
}

Status Sweepers::keep_watch(SweepReport& report) {
  auto clocks = engine_.store_.clocks();
  if (!clocks) return std::unexpected(clocks.error());
  if (auto status = keep_house(*clocks, report); !status) return status;
  if (auto status = watch_health_if_due(clocks->wall, report); !status) return status;
  report.more = report.more || report.expired >= kPassMax;
  return {};
}

Millis Sweepers::idle_time(Millis at_most) {
  const auto wake = engine_.store_.next_wake();
  return wake ? std::clamp(wake->value_or(at_most), Millis{0}, at_most) : at_most;
}

Result<int> Engine::requeue_stalled(Millis max_age) {
  constexpr int kPasses = 10'000;
  Sweepers sweepers(*this);
  int total = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    auto moved = sweepers.reclaim(max_age, kPassMax);
    if (!moved) return moved;
    total += *moved;
    if (*moved == 0) break;
  }
  return total;
}

}  // namespace drover
