// Stats: counts from the store, rates and durations from the latest events.
#include <algorithm>
#include <map>

#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/event_samples.h"
#include "engine/event_window.h"
#include "engine/health.h"

namespace drover {

namespace {

constexpr Millis kWindow{60'000};

void count_event(const Event& event, Rates& rates) {
  if (event.name == "task.enqueued") ++rates.enqueued;
  if (event.name == "task.claimed") ++rates.started;
  if (event.name == "task.retrying") ++rates.retried;
  const bool late = event.name == "task.deadline_passed";
  if (event.name == "task.completed" || (late && event.state == TaskState::kCompleted)) ++rates.completed;
  if (event.name == "task.failed" || (late && event.state == TaskState::kFailed)) ++rates.failed;
}

// The nearest rank.
std::optional<Millis> quantile(const std::vector<Millis>& sorted, std::size_t percent) {
  if (sorted.empty()) return std::nullopt;
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Durations durations_of(const std::vector<DurationSample>& samples, const std::string* queue) {
  std::vector<Millis> times;
  for (const DurationSample& sample : samples) {
    if (queue == nullptr || sample.queue == *queue) times.push_back(sample.took);
  }
  std::ranges::sort(times);
  return {.p50 = quantile(times, 50), .p95 = quantile(times, 95)};
}

std::string_view host_of(const WorkerInfo& worker) {
  return std::string_view(worker.id).substr(0, worker.id.find(':'));
}

void add_workers(Stats& stats, const std::vector<WorkerInfo>& workers) {
  std::map<std::string_view, std::int64_t> workspace_bytes;  // workers of a host mostly share them
  for (const WorkerInfo& worker : workers) {
    stats.workers.running += worker.running;
    std::int64_t& of_host = workspace_bytes[host_of(worker)];
    of_host = std::max(of_host, worker.workspace_bytes);
    if (is_silent(worker, stats.at)) {
      ++stats.workers.silent;
    } else if (worker.draining) {
      ++stats.workers.draining;
    } else {
      ++stats.workers.working;
      stats.workers.slots += worker.capacity;
    }
    for (QueueStats& queue : stats.queues) {
      if (!serves_queue(worker, queue.name, stats.at)) continue;
      ++queue.workers;
      queue.free_slots += std::max(0, worker.capacity - worker.running);
    }
  }
  for (const auto& [host, bytes] : workspace_bytes) stats.workers.workspace_bytes += bytes;
}

void add_permits(Stats& stats, const std::vector<GateState>& gates) {
  for (const GateState& gate : gates) {
    const auto permits = limits_of(gate.record).permits;
    if (!permits) continue;
    ++stats.permits.gates;
    stats.permits.permits += *permits;
    stats.permits.in_use += gate.use.in_use;
  }
}

void add_queues(Stats& stats, const std::vector<QueueCounts>& queues) {
  for (const QueueCounts& counts : queues) {
    QueueStats queue{.name = counts.name, .tasks = counts.tasks};
    if (counts.first) queue.waiting_since = counts.first->since;
    for (std::size_t i = 0; i < counts.tasks.size(); ++i) stats.tasks[i] += counts.tasks[i];
    stats.queues.push_back(std::move(queue));
  }
}

// Of everybody's tasks, or of one owner's.
Status add_window(Stats& stats, Store& store, const std::string* owner) {
  auto window = TRY(read_event_window(store, stats.at, kWindow));
  if (owner != nullptr) std::erase_if(window.events, [&](const Event& event) { return event.owner != *owner; });
  stats.window = stats.at - window.from;
  std::map<std::string, Rates> by_queue;
  for (const Event& event : window.events) {
    count_event(event, stats.rates);
    count_event(event, by_queue[event.queue]);
  }
  const auto [waits, runs] = TRY(samples_of(store, window.events));
  stats.waits = durations_of(waits, nullptr);
  stats.runs = durations_of(runs, nullptr);
  for (QueueStats& queue : stats.queues) {
    queue.rates = by_queue[queue.name];
    queue.waits = durations_of(waits, &queue.name);
    queue.runs = durations_of(runs, &queue.name);
  }
  return {};
}

Status add_questions(Stats& stats, Store& store) {
  stats.questions.kept = TRY(store.count_questions());
  stats.questions.tasks_waiting = TRY(store.count_answer_waits(std::nullopt));
  if (stats.questions.in(QuestionState::kOpen) == 0) return {};
  const auto oldest = TRY(store.open_questions(std::nullopt, 1));
  if (!oldest.empty()) stats.questions.oldest_open_at = oldest.front().question.asked_at;
  return {};
}

}  // namespace

Result<Stats> Engine::stats() {
  auto now = TRY(store_.now());
  const auto queues = TRY(store_.queues());
  const auto workers = TRY(store_.workers());
  const auto gates = TRY(store_.gates());
  Stats stats{.at = now};
  add_queues(stats, queues);
  add_workers(stats, workers);
  add_permits(stats, gates);
  TRY(add_questions(stats, store_));
  TRY(add_window(stats, store_, nullptr));
  stats.alerts = TRY(this->alerts());
  return stats;
}

Result<Stats> Engine::owner_stats(const std::string& owner) {
  if (auto valid = check_name(owner); !valid) return at_field("owner", valid.error());
  const auto now = TRY(store_.now());
  const auto queues = TRY(store_.queues_of(owner));
  Stats stats{.at = now};
  add_queues(stats, queues);
  stats.questions.tasks_waiting = TRY(store_.count_answer_waits(owner));
  TRY(add_window(stats, store_, &owner));
  return stats;
}

}  // namespace drover
