#include "engine/bulk_sweeper.h"
#include "engine/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted_bug.h"
#include "base/try.h"
#include "engine/verb_steps.h"

namespace drover {
namespace {

constexpr int kTriesMax = 32;             // of one step; the next pass goes on
constexpr int kConflictsMax = 16;         // of one task in one step
constexpr int kWholePageSize = 64;        // where whole tasks are read
constexpr std::size_t kStepsMax = 2'000;  // of tasks, cascades included, unless one task alone has more

// Whether the store, not the task, is the reason: then the step is made again, and nothing is counted.
bool is_of_store(ErrorCode code) {
  using enum ErrorCode;
  return code == kStoreUnavailable || code == kStoreRegressed || code == kDiskFull || code == kSchemaTooNew ||
         code == kInternal;
}

bool needs_whole_tasks(BulkVerb verb) {
  return verb == BulkVerb::kRetry || verb == BulkVerb::kEdit;
}

Result<StepGroup> cancel_once(const VerbScene& scene, const TaskRecord& record, const Verdict& verdict) {
  CancelOutcome outcome;
  auto group = TRY(cancel_steps(scene, record, verdict, outcome));
  if (group.steps.empty()) return fail(ErrorCode::kWrongState, "it was asked to stop already");
  return group;
}

}  // namespace

Result<int> BulkSweeper::run_once() {
  refused_.clear();
  conflicts_ = 0;
  std::optional<std::int64_t> version;
  for (int attempt = 0; attempt < kTriesMax; ++attempt) {
    auto document = TRY(read_bulk_document(engine_.store_));
    BulkRecord* record = next_to_run(document.records);
    // Another version: another process has made this step.
    if (record == nullptr || version.value_or(document.version) != document.version) return 0;
    version = document.version;
    const Went went = TRY(try_step(document, *record));
    if (went == Went::kDone) return std::max(looked_at_, 1);
  }
  return 0;
}

Result<BulkSweeper::Went> BulkSweeper::try_step(BulkDocument& document, BulkRecord& record) {
  const Page page = TRY(read_page(record));
  const Time now = TRY(engine_.time_of_end());
  auto decided = TRY(decide_page(record.operation.order, page, now));
  const auto size = static_cast<int>(page.items.size());
  if (size > 1 && decided.group.steps.size() > kStepsMax) {
    page_size_ = std::max(1, size / 2);
    return Went::kAgain;
  }
  for (const auto& [id, outcome] : decided.outcomes) count_outcome(record.operation, id, outcome);
  record.operation.updated_at = now;
  if (page.cursor) record.cursor = *page.cursor;
  record.next_id += page.items.size();
  std::vector<EventDraft> events;
  if (page.is_last) {
    end_operation(record, BulkState::kCompleted, now);
    events.push_back(bulk_event(record.operation));
  }
  decided.group.document = step_of(document, std::move(events));
  TRY(rejoin_sessions(engine_.store_, decided.group, now));
  const Applied verdict = TRY(write(std::move(decided.group)));
  if (verdict == Applied::kDone) {
    page_size_ = std::min(kPageSizeMax, page_size_ * 2);
    looked_at_ = size;
    return Went::kDone;
  }
  note_refusal(page, verdict);
  if (size > 1) page_size_ = size / 2;
  return Went::kAgain;
}

// A planted bug: the record goes first, and what it tells of later.
Result<Applied> BulkSweeper::write(StepGroup group) {
  if (planted(PlantedBug::kBulkCursorFirst)) {
    StepGroup record;
    record.document = std::exchange(group.document, std::nullopt);
    const auto first = TRY(engine_.store_.apply(std::span(&record, 1)));
    if (first.front() != Applied::kDone || group.steps.empty()) return first.front();
  }
  const auto applied = TRY(engine_.store_.apply(std::span(&group, 1)));
  return applied.front();
}

// Of one task alone: what moved is looked at again a few times, everything else is the answer.
void BulkSweeper::note_refusal(const Page& page, Applied verdict) {
  if (page.items.size() != 1) return;
  const TaskId& id = page.items.front().id;
  if (verdict == Applied::kConflict) {
    if (++conflicts_ < kConflictsMax) return;
    refused_[id] = Error{ErrorCode::kLimitExceeded, "something kept changing it; it was left as it was", {}};
  } else if (verdict == Applied::kStillLeased) {
    refused_[id] = still_leased(id).error();
  } else {
    refused_[id] = Error{ErrorCode::kLimitExceeded, "a limit on waiting tasks is reached", {}};
  }
}

Result<BulkSweeper::Page> BulkSweeper::read_page(const BulkRecord& record) {
  const BulkOrder& order = record.operation.order;
  const bool whole = needs_whole_tasks(order.verb);
  const Parts parts = whole ? Parts::kAll : Parts::kHead;
  const int limit = whole ? std::min(page_size_, kWholePageSize) : page_size_;
  Page page;
  if (order.filter) {
    auto found = TRY(engine_.store_.list(*order.filter, limit, record.cursor, parts));
    for (TaskRecord& task : found.records) page.items.push_back({task.task.id, std::move(task)});
    page.is_last = !found.cursor;
    page.cursor = std::move(found.cursor);
    return page;
  }
  const auto ids = std::span(order.ids).subspan(std::min(record.next_id, order.ids.size()));
  const auto some = ids.first(std::min(ids.size(), static_cast<std::size_t>(limit)));
  auto records = TRY(engine_.store_.read(some, parts));
  for (std::size_t i = 0; i < some.size(); ++i) page.items.push_back({some[i], std::move(records[i])});
  page.is_last = some.size() == ids.size();
  return page;
}

Result<BulkSweeper::Decided> BulkSweeper::decide_page(const BulkOrder& order, const Page& page, Time now) {
  const auto policy = TRY(engine_.policy());
  RecordView view(engine_.store_);
  const VerbScene scene{view, engine_.rng_, *policy, now};
  // One task may be touched by what follows from several.
  Cascade all(view, engine_.rng_, *policy, now);
  Decided decided;
  for (const Item& item : page.items) {
    auto group = decide_item(order, scene, item);
    if (!group && is_of_store(group.error().code)) return std::unexpected(group.error());
    decided.outcomes.emplace_back(item.id, group ? Status() : Status(std::unexpected(group.error())));
    if (!group) continue;
    for (Step& step : group->steps) all.add(std::move(step));
    for (QuestionStep& question : group->questions) all.add(std::move(question));
  }
  decided.group = all.take_last();
  return decided;
}

Result<StepGroup> BulkSweeper::decide_item(const BulkOrder& order, const VerbScene& scene, const Item& item) {
  if (const auto refused = refused_.find(item.id); refused != refused_.end()) return std::unexpected(refused->second);
  if (!item.record || (order.owner && item.record->task.owner != *order.owner)) return no_such_task(item.id);
  // What followed from an earlier task of this page is known to the view only.
  TaskRecord record = *item.record;
  if (scene.view.contains(item.id)) {
    auto decided = TRY(scene.view.find(item.id, needs_whole_tasks(order.verb) ? Parts::kAll : Parts::kHead));
    if (!decided) return no_such_task(item.id);
    record = *std::move(decided);
  }
  switch (order.verb) {
    case BulkVerb::kCancel:
      return cancel_once(scene, record, order.verdict);
    case BulkVerb::kRetry: {
      RetryOrder retry = order.retry.value_or(RetryOrder{});
      retry.verdict = order.verdict;
      return retry_steps(scene, record, retry);
    }
    case BulkVerb::kEdit: {
      Task edited;
      return edit_steps(scene, record, order.edit.value_or(EditOrder{}), edited);
    }
    case BulkVerb::kEscalate:
      return steps_alone(record, trigger::Escalate{{.to = order.to, .verdict = order.verdict}}, scene.now);
    case BulkVerb::kDelete:
      return steps_alone(record, trigger::Delete{order.verdict}, scene.now);
  }
  return fail(ErrorCode::kInternal, "no such verb");
}

Status BulkSweeper::forget_ended(Time long_ago) {
  auto document = TRY(read_bulk_document(engine_.store_));
  if (!drover::forget_ended(document.records, long_ago)) return {};
  TRY(put_bulk_document(engine_.store_, document, {}));
  return {};
}

}  // namespace drover
