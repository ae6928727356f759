#include "engine/event_samples.h"

#include <map>

#include "base/try.h"

namespace drover {
namespace {

constexpr std::size_t kRecordsMax = 1'000;

bool is_run_end(const Event& event) {
  return event.name == "task.completed" || event.name == "task.failed";
}

// By the record of the task.
std::optional<Millis> run_of(const Event& event, const Task& task) {
  if (!task.started_at || event.at < *task.started_at || task.run != event.run) return std::nullopt;
  return event.at - *task.started_at;
}

// Only of a first run, since nothing in the record tells when a later one was ready.
std::optional<Millis> wait_of(const Event& event, const Task& task) {
  if (event.run != 1 || task.run != 1) return std::nullopt;
  const Time ready = task.run_at.value_or(task.created_at);
  if (ready > event.at) return std::nullopt;
  return event.at - ready;
}

// Some of them, evenly spread.
std::vector<const Event*> some_of(const std::vector<const Event*>& all) {
  const std::size_t stride = (all.size() + kRecordsMax - 1) / kRecordsMax;
  std::vector<const Event*> some;
  for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
  return some;
}

template <class Measure>
Status add_by_records(Store& store, const std::vector<const Event*>& events, Measure measure,
                      std::vector<DurationSample>& samples) {
  if (events.empty()) return {};
  const std::vector<const Event*> some = some_of(events);
  std::vector<TaskId> ids;
  for (const Event* event : some) ids.push_back(event->task);
  const auto records = TRY(store.read(ids, Parts::kHead));
  for (std::size_t i = 0; i < some.size(); ++i) {
    const std::optional<TaskRecord>& record = records[i];
    if (!record) continue;
    if (const auto took = measure(*some[i], record->task)) {
      samples.push_back({some[i]->queue, some[i]->at, *took});
    }
  }
  return {};
}

// Since when a task has been ready, or has run.
class Since {
 public:
  void begin(const Event& event) { at_[event.task] = event.at; }
  // Nothing if it began before the events.
  std::optional<DurationSample> end(const Event& event) {
    const auto found = at_.find(event.task);
    if (found == at_.end()) return std::nullopt;
    const DurationSample sample{event.queue, event.at, std::max(event.at - found->second, Millis{0})};
    at_.erase(found);
    return sample;
  }

 private:
  std::map<TaskId, Time> at_;
};

}  // namespace

Result<EventSamples> samples_of(Store& store, const std::vector<Event>& events) {
  EventSamples samples;
  Since ready;
  Since started;
  std::vector<const Event*> older_starts;
  std::vector<const Event*> older_ends;
  for (const Event& event : events) {
    if (event.name == "task.claimed") {
      const auto wait = ready.end(event);
      wait ? samples.waits.push_back(*wait) : older_starts.push_back(&event);
      started.begin(event);
    } else if (is_claimable(event.state) && !event.task.is_nil()) {
      ready.begin(event);
    } else if (is_run_end(event)) {
      const auto run = started.end(event);
      run ? samples.runs.push_back(*run) : older_ends.push_back(&event);
    }
  }
  TRY(add_by_records(store, older_starts, wait_of, samples.waits));
  TRY(add_by_records(store, older_ends, run_of, samples.runs));
  return samples;
}

}  // namespace drover
