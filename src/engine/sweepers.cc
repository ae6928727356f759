#include "engine/sweepers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/planted_bug.h"
#include "base/try.h"
#include "engine/cascade.h"
#include "engine/sessions.h"
#include "engine/trees.h"

namespace drover {

namespace {

constexpr int kPassMax = 256;           // tasks per sweeper and pass
constexpr int kSessionsTidied = 1'000;  // each time; and trees
constexpr Millis kHousekeepingEvery{60'000};
constexpr Millis kForgetAfter{300'000};  // a registration outlives its worker by this, and by its last lease

}  // namespace

Result<int> Sweepers::sweep(Result<std::vector<TaskRecord>> found, const Decide& decide) {
  std::vector<TaskRecord> records = TRY(std::move(found));
  if (records.empty()) return 0;
  auto policy = TRY(engine_.policy());
  auto now = TRY(engine_.time_of_end());

  RecordView view(engine_.store_);
  std::vector<StepGroup> groups;
  for (TaskRecord& record : records) {
    // An earlier record's cascade may have reached this one: then it is decided on, and not ours any more.
    if (view.contains(record.task.id)) continue;
    Cascade cascade(view, engine_.rng_, *policy, now);
    if (auto status = decide(cascade, record); !status) {
      log_error("engine", "sweeper cannot decide on a task",
                {{"task", record.task.id.to_string()}, {"error", to_string(status.error())}});
      continue;
    }
    groups.push_back(cascade.take());
  }
  if (groups.empty()) return 0;
  auto applied = TRY(engine_.store_.apply(groups));
  return static_cast<int>(std::ranges::count(applied, Applied::kDone));
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

Result<int> Sweepers::close_questions(int limit) {
  const auto due = TRY(engine_.store_.due_questions(limit));
  int closed = 0;
  for (const QuestionRecord& record : due) {
    const auto moved = engine_.sweep_question(record.question.id);
    if (!moved) {
      log_error("engine", "sweeper cannot close a question",
                {{"question", record.question.id.to_string()}, {"error", to_string(moved.error())}});
    }
    if (moved.value_or(false)) ++closed;
  }
  return closed;
}

Result<int> Sweepers::expire(const StoreClocks& clocks, int limit) {
  auto policy = TRY(engine_.policy());
  const Limits& limits = policy->limits;
  Retention retention{.tasks_max = limits.retention_tasks,
                      .bytes_max = limits.retention_bytes,
                      .events_max = limits.event_retention_count};
  if (clocks.unsure < kStepMin / 2) {
    const auto believed = TRY(engine_.look_at_clocks(clocks));
    retention.finished_until = end_of_age(believed, limits.retention);
    retention.events_until = end_of_age(believed, limits.event_retention);
    retention.ledger_from = day_of(end_of_age(believed, limits.usage_retention));
    TRY(bulk_.forget_ended(end_of_age(believed, kBulkEndedKept)));
    TRY(forget_conversations(engine_.store_, end_of_age(believed, kEmptyConversationKept), kPassMax,
                             last_conversation_));
  }
  return engine_.store_.expire(retention, limit);
}

Status Sweepers::keep_house(const StoreClocks& clocks, SweepReport& report) {
  const bool is_due = !last_housekeeping_ || step_between(*last_housekeeping_, clocks) != Millis{0} ||
                      clocks.steady - last_housekeeping_->steady >= kHousekeepingEvery;
  if (!is_due) return {};
  auto expired = TRY(expire(clocks, kPassMax));
  auto gone = TRY(engine_.store_.forget_workers(kForgetAfter));
  for (const std::string& id : gone) log_warn("engine", "worker is gone", {{"worker", id}});
  sessions_after_ = TRY(tidy_sessions(engine_.store_, *TRY(engine_.policy()), sessions_after_, kSessionsTidied));
  trees_after_ = TRY(tidy_trees(engine_.store_, trees_after_, kSessionsTidied));
  report.expired = expired;
  report.workers_gone = static_cast<int>(gone.size());
  if (expired < kPassMax) last_housekeeping_ = clocks;
  return {};
}

Result<SweepReport> Sweepers::run_once() {
  SweepReport report;
  const auto take = [&](const Result<int>& moved, int& count) -> Status {
    count = TRY(moved);
    report.more = report.more || count >= kPassMax;
    return {};
  };
  // Deadlines first: a task that is due and late at once ends, it does not start.
  TRY(take(enforce_deadlines(kPassMax), report.deadlines));
  TRY(take(reclaim(std::nullopt, kPassMax), report.reclaimed));
  TRY(take(close_questions(kPassMax), report.questions));
  TRY(take(promote(kPassMax), report.promoted));
  TRY(take(resume_cascades(kPassMax), report.cascades));
  if (auto policy = TRY(engine_.policy()); policy->has_budgets) {
    TRY(engine_.begin_periods(policy, TRY(engine_.store_.now())));
  }
  report.woken = TRY(engine_.store_.wake_gates());
  TRY(keep_watch(report));
  // The last: however long it goes on, it never keeps the others from their work.
  report.bulk = TRY(bulk_.run_once());
  return report;
}

Result<SweepReport> Sweepers::keep_watch() {
  SweepReport report;
  TRY(keep_watch(report));
  return report;
}

Status Sweepers::keep_watch(SweepReport& report) {
  auto clocks = TRY(engine_.store_.clocks());
  TRY(keep_house(clocks, report));
  TRY(watch_health_if_due(clocks.wall, report));
  TRY(fold_history_if_due(clocks.wall, report));
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
