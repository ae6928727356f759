// Stats: counts from the store, rates and durations from the latest events.
#include <algorithm>
#include <map>

#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/event_window.h"
#include "engine/health.h"

namespace drover {

namespace {

constexpr Millis kWindow{60'000};
constexpr std::size_t kSamplesMax = 1'000;

void count_event(const Event& event, Rates& rates) {
  if (event.name == "task.enqueued") ++rates.enqueued;
  if (event.name == "task.claimed") ++rates.started;
  if (event.name == "task.retrying") ++rates.retried;
  const bool late = event.name == "task.deadline_passed";
  if (event.name == "task.completed" || (late && event.state == TaskState::kCompleted)) ++rates.completed;
  if (event.name == "task.failed" || (late && event.state == TaskState::kFailed)) ++rates.failed;
}

// How long something took, of one queue.
struct Sample {
  std::string queue;
  Millis took;
};

// The nearest rank.
std::optional<Millis> quantile(const std::vector<Millis>& sorted, std::size_t percent) {
  if (sorted.empty()) return std::nullopt;
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Durations durations_of(const std::vector<Sample>& samples, const std::string* queue) {
  std::vector<Millis> times;
  for (const Sample& sample : samples) {
    if (queue == nullptr || sample.queue == *queue) times.push_back(sample.took);
  }
  std::ranges::sort(times);
  return {.p50 = quantile(times, 50), .p95 = quantile(times, 95)};
}

std::optional<Millis> run_of(const Event& event, const Task& task) {
  if (!is_terminal(event.state) || !task.started_at || event.at < *task.started_at) return std::nullopt;
  if (task.run != event.run) return std::nullopt;
  return event.at - *task.started_at;
}

// By the record of the task: only of a first run, since nothing there tells when a later one was ready.
std::optional<Millis> wait_of(const Event& event, const Task& task) {
  if (event.run != 1 || task.run != 1) return std::nullopt;
  const Time ready = task.run_at.value_or(task.created_at);
  if (ready > event.at) return std::nullopt;
  return event.at - ready;
}

// Waits that began and ended within the window, and the starts whose wait began before it.
struct Waits {
  std::vector<Sample> samples;
  std::vector<Event> older;
};

Waits waits_within(const std::vector<Event>& events) {
  Waits waits;
  std::map<TaskId, Time> ready;
  for (const Event& event : events) {
    if (is_claimable(event.state)) ready[event.task] = event.at;
    if (event.name != "task.claimed") continue;
    if (const auto since = ready.find(event.task); since != ready.end()) {
      waits.samples.push_back({event.queue, event.at - since->second});
    } else {
      waits.older.push_back(event);
    }
  }
  return waits;
}

// Samples of the latest events of a kind, by the records of their tasks.
template <class Measure>
Result<std::vector<Sample>> samples_of(Store& store, const std::vector<Event>& events, Measure measure,
                                       bool (*counts)(const Event&)) {
  std::vector<const Event*> latest;
  for (auto event = events.rbegin(); event != events.rend() && latest.size() < kSamplesMax; ++event) {
    if (counts(*event)) latest.push_back(&*event);
  }
  std::vector<TaskId> ids;
  for (const Event* event : latest) ids.push_back(event->task);
  const auto records = TRY(store.read(ids, Parts::kHead));
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < latest.size(); ++i) {
    const std::optional<TaskRecord>& record = records[i];
    if (!record) continue;
    if (const auto took = measure(*latest[i], record->task)) samples.push_back({latest[i]->queue, *took});
  }
  return samples;
}

bool is_start(const Event& event) {
  return event.name == "task.claimed";
}
bool is_end(const Event& event) {
  return event.name == "task.completed" || event.name == "task.failed";
}

void add_workers(Stats& stats, const std::vector<WorkerInfo>& workers) {
  for (const WorkerInfo& worker : workers) {
    stats.workers.running += worker.running;
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
  auto [waits, older] = waits_within(window.events);
  const auto older_waits = TRY(samples_of(store, older, wait_of, is_start));
  std::ranges::copy(older_waits, std::back_inserter(waits));
  const auto runs = TRY(samples_of(store, window.events, run_of, is_end));
  stats.waits = durations_of(waits, nullptr);
  stats.runs = durations_of(runs, nullptr);
  for (QueueStats& queue : stats.queues) {
    queue.rates = by_queue[queue.name];
    queue.waits = durations_of(waits, &queue.name);
    queue.runs = durations_of(runs, &queue.name);
  }
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
  TRY(add_window(stats, store_, &owner));
  return stats;
}

}  // namespace drover
