#include "server/event_counters.h"

#include "base/clock.h"
#include "base/json.h"

namespace drover::server {
namespace {

constexpr int kScrapePageEvents = 500;
// A scraper that was away for long gets the rest with its next scrapes.
constexpr Millis kCatchUpMax{2'000};

using Bounds = prometheus::Histogram::BucketBoundaries;
const Bounds& pick_up_bounds() {
  static const Bounds kBounds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 3600};
  return kBounds;
}
const Bounds& run_bounds() {
  static const Bounds kBounds{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400};
  return kBounds;
}
const Bounds& question_bounds() {
  static const Bounds kBounds{1, 5, 15, 60, 300, 900, 3600, 14400, 86400, 604800};
  return kBounds;
}
const Bounds& runs_of_task_bounds() {
  static const Bounds kBounds{1, 2, 3, 5, 10, 20};
  return kBounds;
}

double seconds(Millis time) {
  return static_cast<double>(time.count()) / 1000.0;
}

bool is_end(const Event& event) {
  return event.name == "task.completed" || event.name == "task.failed" || event.name == "task.cancelled" ||
         event.name == "task.deadline_passed";
}

}  // namespace

std::string QueueLabels::of(const std::string& queue) {
  if (known_.contains(queue)) return queue;
  if (known_.size() >= kQueuesMax) return std::string(kOther);
  known_.insert(queue);
  return queue;
}

EventCounters::EventCounters(prometheus::Registry& registry, QueueLabels& queues)
    : queues_(queues),
      events_(prometheus::BuildCounter()
                  .Name("drover_events_total")
                  .Help("Events of the store since the server started, by name.")
                  .Register(registry)),
      missed_(prometheus::BuildCounter()
                  .Name("drover_events_missed_total")
                  .Help("Events that retention deleted before a scrape could count them.")
                  .Register(registry)
                  .Add({})),
      pick_up_(prometheus::BuildHistogram()
                   .Name("drover_task_pick_up_seconds")
                   .Help("From ready to claimed.")
                   .Register(registry)),
      run_(prometheus::BuildHistogram()
               .Name("drover_run_duration_seconds")
               .Help("From claimed to the end of that run, however it ended.")
               .Register(registry)),
      runs_of_task_(prometheus::BuildHistogram()
                        .Name("drover_task_runs")
                        .Help("How many runs a task had when it ended.")
                        .Register(registry)
                        .Add({}, runs_of_task_bounds())),
      question_wait_(prometheus::BuildHistogram()
                         .Name("drover_question_wait_seconds")
                         .Help("From asked to closed, by how the question was closed.")
                         .Register(registry)) {}

bool EventCounters::catch_up(TaskQueue& queue) {
  const MonoTime give_up_at = system_clock().mono() + kCatchUpMax;
  for (bool has_more = true; has_more && system_clock().mono() < give_up_at;) {
    std::int64_t after = cursor_.after();
    const auto news = cursor_.next(queue, kScrapePageEvents);
    if (!news) return false;
    if (const auto& gap = news->went_back) after = gap->seq;
    for (const Event& event : news->events) {
      if (event.seq > after + 1) missed_.Increment(static_cast<double>(event.seq - after - 1));
      after = event.seq;
      count(event);
      if (event.name.starts_with("task.")) measure(event);
      if (event.name.starts_with("question.")) measure_question(event);
    }
    has_more = news->has_more;
  }
  return true;
}

void EventCounters::count(const Event& event) {
  prometheus::Counter*& counter = by_name_[event.name];
  if (counter == nullptr) counter = &events_.Add({{"event", event.name}});
  counter->Increment();
}

void EventCounters::measure(const Event& event) {
  if (event.state != TaskState::kRunning) {
    if (const auto claimed = claimed_.find(event.task); claimed != claimed_.end()) {
      observe(run_, run_bounds(), event.queue, event.at - claimed->second);
      claimed_.erase(claimed);
    }
  }
  if (event.name == "task.claimed") {
    if (const auto ready = ready_.find(event.task); ready != ready_.end()) {
      observe(pick_up_, pick_up_bounds(), event.queue, event.at - ready->second);
    }
    track(claimed_, event);
  }
  if (is_claimable(event.state)) {
    track(ready_, event);
  } else {
    ready_.erase(event.task);
  }
  if (is_end(event)) runs_of_task_.Observe(event.run);
}

// The event that closes it tells how long it was open.
void EventCounters::measure_question(const Event& event) {
  const auto data = json::parse(event.data);
  const json::Value* waited = data ? data->find("waited_ms") : nullptr;
  const json::Value* state = data ? data->find("state") : nullptr;
  const auto waited_ms = waited != nullptr ? waited->as_int() : std::nullopt;
  const auto closed_as =
      state != nullptr && state->as_string() != nullptr ? parse_question_state(*state->as_string()) : std::nullopt;
  if (!waited_ms || !closed_as) return;
  question_wait_.Add({{"state", std::string(name_of(*closed_as))}}, question_bounds())
      .Observe(seconds(std::max(Millis{*waited_ms}, Millis{0})));
}

// Since the first event that put it into this state: one that only edits a waiting task does not begin its wait anew.
void EventCounters::track(Since& since, const Event& event) {
  if (since.size() < kTrackedMax) since.try_emplace(event.task, event.at);
}

void EventCounters::observe(prometheus::Family<prometheus::Histogram>& family, const Bounds& bounds,
                            const std::string& queue, Millis took) {
  family.Add({{"queue", queues_.of(queue)}}, bounds).Observe(seconds(std::max(took, Millis{0})));
}

}  // namespace drover::server
