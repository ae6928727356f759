// Counters and histograms that follow the event log.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "core/event_cursor.h"
#include "drover/task_queue.h"

namespace drover::server {

// Names of queues as label values: those that came first keep theirs, the rest are "other", so that the number of time
// series is bounded.
class QueueLabels {
 public:
  static constexpr std::size_t kQueuesMax = 100;
  static constexpr std::string_view kOther = "other";

  [[nodiscard]] std::string of(const std::string& queue);

 private:
  std::set<std::string> known_;
};

class EventCounters {
 public:
  EventCounters(prometheus::Registry& registry, QueueLabels& queues);

  void begin_after(std::int64_t seq) { cursor_ = EventCursor(seq); }
  // Counts what has happened since the last call, for as long as it may take. False if the queue does not answer.
  [[nodiscard]] bool catch_up(TaskQueue& queue);
  // The last event that is counted.
  [[nodiscard]] std::int64_t seq() const { return cursor_.after(); }

 private:
  // Tasks that wait or run are remembered until they do not; beyond this many their times are not measured.
  static constexpr std::size_t kTrackedMax = 100'000;
  using Since = std::unordered_map<TaskId, Time>;

  void count(const Event& event);
  void measure(const Event& event);
  void measure_question(const Event& event);
  void observe(prometheus::Family<prometheus::Histogram>& family, const prometheus::Histogram::BucketBoundaries& bounds,
               const std::string& queue, Millis took);
  static void track(Since& since, const Event& event);

  QueueLabels& queues_;
  EventCursor cursor_;
  prometheus::Family<prometheus::Counter>& events_;
  prometheus::Counter& missed_;
  prometheus::Family<prometheus::Histogram>& pick_up_;
  prometheus::Family<prometheus::Histogram>& run_;
  prometheus::Histogram& runs_of_task_;
  prometheus::Family<prometheus::Histogram>& question_wait_;
  std::map<std::string, prometheus::Counter*> by_name_;
  Since ready_;
  Since claimed_;
};

}  // namespace drover::server
