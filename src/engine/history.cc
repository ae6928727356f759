// Statistics over time: a sweeper folds the event log into a document, and a reader adds what came since.
//
// The document says which event it was folded up to, and is written under compare-and-set. So each event counts once,
// however many processes fold, and whatever crashes in between.
#include <algorithm>

#include "base/log.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "core/stats_history.h"
#include "engine/engine.h"
#include "engine/event_samples.h"
#include "engine/sweepers.h"

namespace drover {
namespace {

constexpr int kPageEvents = 1'000;
constexpr std::int64_t kFoldEventsMax = 50'000;  // at once
constexpr std::int64_t kReadEventsMax = 20'000;  // that a reader adds by itself
constexpr Millis kFoldEvery{60'000};

// Counts the next events, at most so many. Returns how many.
Result<std::int64_t> fold_next(Store& store, HistoryDocument& history, std::int64_t events_max) {
  const auto last = TRY(store.last_event_seq());
  history.go_back_to(last);
  std::vector<Event> events;
  for (std::int64_t after = history.folded(); std::cmp_less(events.size(), events_max);) {
    auto page = TRY(store.events(after, kPageEvents));
    if (page.empty()) break;
    after = page.back().seq;
    std::ranges::move(page, std::back_inserter(events));
  }
  const auto samples = TRY(samples_of(store, events));
  for (const Event& event : events) history.fold(event);
  for (const DurationSample& wait : samples.waits) history.add_wait({wait.ended_at, wait.took});
  for (const DurationSample& run : samples.runs) history.add_run({run.ended_at, run.took});
  return static_cast<std::int64_t>(events.size());
}

// One that cannot be read is begun anew: better numbers from now on than none for ever.
HistoryDocument readable(const StoredDocument& document) {
  auto history = HistoryDocument::parse(document.text);
  if (history) return *std::move(history);
  log_error("engine", "the statistics over time cannot be read and begin anew", {{"why", history.error().message}});
  return {};
}

}  // namespace

Result<StatsHistory> Engine::stats_history(HistoryStep step, int count) {
  TRY(check_bounds(count, Bounds{1, step == HistoryStep::kMinute ? kHistoryMinutes : kHistoryHours}));
  const auto now = TRY(store_.now());
  const auto document = TRY(store_.document(DocumentKind::kHistory));
  HistoryDocument history = readable(document);
  TRY(fold_next(store_, history, kReadEventsMax));
  return history.view(step, count, now);
}

Result<std::int64_t> Sweepers::fold_history() {
  Store& store = engine_.store_;
  const auto document = TRY(store.document(DocumentKind::kHistory));
  HistoryDocument history = readable(document);
  const auto folded = TRY(fold_next(store, history, kFoldEventsMax));
  folded_to_ = history.folded();
  if (folded == 0) return 0;
  const auto now = TRY(store.now());
  history.trim(now);
  // Of several processes that fold at the same time one writes; the others have counted the same.
  TRY(store.put_document(DocumentKind::kHistory, history.to_json(), document.version, {}));
  return folded;
}

// Not at once: a command that ends soon leaves it to those that stay. Where nothing has happened nothing is read.
Status Sweepers::fold_history_if_due(Time now, SweepReport& report) {
  if (!last_fold_ || now < *last_fold_) last_fold_ = now;
  if (now - *last_fold_ < kFoldEvery) return {};
  const auto last = TRY(engine_.store_.last_event_seq());
  std::int64_t folded = 0;
  if (last != folded_to_) folded = TRY(fold_history());
  report.folded = static_cast<int>(folded);
  if (folded < kFoldEventsMax) last_fold_ = now;  // otherwise it goes on with the next pass
  return {};
}

}  // namespace drover
