#include "cli/stats_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/task_view.h"

namespace drover::cli {
namespace {

constexpr double kMinute = 60'000;

std::int64_t count(const std::array<std::int64_t, kTaskStateCount>& tasks, TaskState state) {
  return tasks[static_cast<std::size_t>(state)];
}

std::int64_t waiting(const std::array<std::int64_t, kTaskStateCount>& tasks) {
  return count(tasks, TaskState::kPending) + count(tasks, TaskState::kStalled);
}

std::string number(std::int64_t value) {
  return std::to_string(value);
}

std::string millis_text(const std::optional<Millis>& time) {
  return time ? std::to_string(time->count()) : "";
}

// For people both rates in one cell; programs get the counts.
Cell rate_cell(std::int64_t count, Millis window) {
  return {per_minute(count, window), number(count)};
}

}  // namespace

std::string per_minute(std::int64_t count, Millis window) {
  if (count == 0 || window <= Millis{0}) return "0";
  const double rate = static_cast<double>(count) * kMinute / static_cast<double>(window.count());
  return rate < 10 && rate != static_cast<double>(static_cast<std::int64_t>(rate)) ? fmt::format("{:.1f}", rate)
                                                                                   : fmt::format("{:.0f}", rate);
}

std::string durations_text(const Durations& durations) {
  if (!durations.p50 || !durations.p95) return "-";
  return fmt::format("{} / {}", coarse_duration(*durations.p50), coarse_duration(*durations.p95));
}

Cell age_cell(const std::optional<Time>& since, Time now) {
  if (!since) return {std::string()};
  return {coarse_duration(std::max(Millis{0}, now - *since)), format_time(*since)};
}

std::string stats_summary(const Stats& stats) {
  const auto& tasks = stats.tasks;
  const WorkerTotals& workers = stats.workers;
  std::string text = fmt::format(
      "tasks      {} waiting, {} running, {} scheduled, {} blocked\n"
      "ended      {} completed, {} failed, {} cancelled\n",
      waiting(tasks), count(tasks, TaskState::kRunning), count(tasks, TaskState::kScheduled),
      count(tasks, TaskState::kBlocked), count(tasks, TaskState::kCompleted), count(tasks, TaskState::kFailed),
      count(tasks, TaskState::kCancelled));
  text += fmt::format("last {:<5} {} enqueued, {} started, {} completed, {} failed, {} retried\n",
                      coarse_duration(stats.window), stats.rates.enqueued, stats.rates.started, stats.rates.completed,
                      stats.rates.failed, stats.rates.retried);
  text += fmt::format("p50 / p95  wait {}, run {}\n", durations_text(stats.waits), durations_text(stats.runs));
  text += fmt::format("workers    {} working, {} draining, {} silent; {} in {}\n", workers.working, workers.draining,
                      workers.silent, counted(workers.running, "task"), counted(workers.slots, "slot"));
  if (stats.permits.gates > 0) {
    text += fmt::format("permits    {} of {} in use at {}\n", stats.permits.in_use, stats.permits.permits,
                        counted(stats.permits.gates, "gate"));
  }
  const QuestionTotals& questions = stats.questions;
  if (questions.in(QuestionState::kOpen) > 0 || questions.tasks_waiting > 0) {
    text += fmt::format(
        "questions  {} open; {} for an answer\n", questions.in(QuestionState::kOpen),
        questions.tasks_waiting == 1 ? "1 task waits" : fmt::format("{} tasks wait", questions.tasks_waiting));
  }
  return text;
}

Table stats_table(const Stats& stats) {
  Table table({{"QUEUE"},
               {"WAITING"},
               {"OLDEST"},
               {"RUNNING"},
               {"SCHEDULED", Fit::kHidden},
               {"BLOCKED", Fit::kHidden},
               {"COMPLETED", Fit::kHidden},
               {"FAILED"},
               {"CANCELLED", Fit::kHidden},
               {"WORKERS"},
               {"FREE", Fit::kHidden},
               {"IN/MIN"},
               {"STARTED", Fit::kHidden},
               {"OUT/MIN"},
               {"FAILED", Fit::kHidden},
               {"RETRIED", Fit::kHidden},
               {"WAIT P50/P95", Fit::kElastic},
               {"WAIT P95", Fit::kHidden},
               {"RUN P50/P95", Fit::kElastic},
               {"RUN P95", Fit::kHidden}});
  for (const QueueStats& queue : stats.queues) {
    const auto& tasks = queue.tasks;
    const Rates& rates = queue.rates;
    table.add({queue.name,
               number(waiting(tasks)),
               age_cell(queue.waiting_since, stats.at),
               number(count(tasks, TaskState::kRunning)),
               number(count(tasks, TaskState::kScheduled)),
               number(count(tasks, TaskState::kBlocked)),
               number(count(tasks, TaskState::kCompleted)),
               number(count(tasks, TaskState::kFailed)),
               number(count(tasks, TaskState::kCancelled)),
               number(queue.workers),
               number(queue.free_slots),
               rate_cell(rates.enqueued, stats.window),
               number(rates.started),
               rate_cell(rates.completed, stats.window),
               number(rates.failed),
               number(rates.retried),
               Cell(durations_text(queue.waits), millis_text(queue.waits.p50)),
               millis_text(queue.waits.p95),
               Cell(durations_text(queue.runs), millis_text(queue.runs.p50)),
               millis_text(queue.runs.p95)});
  }
  return table;
}

Table alert_table(std::span<const Alert> alerts, Time now) {
  Table table({{"SEVERITY"}, {"KIND"}, {"SUBJECT"}, {"SINCE"}, {"DETAIL", Fit::kElastic}, {"FIX", Fit::kRest}});
  for (const Alert& alert : alerts) {
    const Paint paint = alert.severity == Severity::kCritical ? Paint::kRed : Paint::kYellow;
    table.add({Cell(std::string(name_of(alert.severity)), paint), std::string(name_of(alert.kind)), alert.subject,
               age_cell(alert.raised_at, now), alert.detail, alert.fix});
  }
  return table;
}

}  // namespace drover::cli
