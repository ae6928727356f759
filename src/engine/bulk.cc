// Bulk operations as their users see them: count, start, look, stop. bulk_sweeper.cc carries them out.
#include "drover/bulk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "engine/bulk_document.h"
#include "engine/engine.h"

namespace drover {
namespace {

constexpr int kCountPage = 1'000;
constexpr std::int64_t kCountMax = 100'000;       // tasks that are counted
constexpr std::int64_t kLookedAtMax = 1'000'000;  // tasks that are looked at, where indexes do not help

std::unexpected<Error> no_such_operation(const BulkId& id) {
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no bulk operation {}", id.to_string()));
}

BulkRecord* find_record(BulkDocument& document, const BulkId& id) {
  const auto found =
      std::ranges::find_if(document.records, [&](const BulkRecord& record) { return record.operation.id == id; });
  return found == document.records.end() ? nullptr : &*found;
}

BulkOperation without_ids(BulkOperation operation) {
  operation.order.ids.clear();
  return operation;
}

void count(BulkPreview& preview, const Task& task) {
  ++preview.matched;
  ++preview.by_state[static_cast<std::size_t>(task.state)];
  if (preview.sample.size() < kBulkSampleMax) preview.sample.push_back(task.id);
}

Status check_order(const BulkOrder& order) {
  TRY(check_verdict(order.verdict));
  TRY(check_words("to whom", order.to));
  return check_bulk(order);
}

// Of ids: those that the verb applies to.
Result<BulkPreview> count_ids(Store& store, const BulkOrder& order) {
  BulkPreview preview{.verb = order.verb};
  const auto records = TRY(store.read(order.ids, Parts::kHead));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::optional<TaskRecord>& record = records[i];
    if (!record || (order.owner && record->task.owner != *order.owner)) return no_such_task(order.ids[i]);
    if (applies_to(order.verb, record->task.state)) count(preview, record->task);
  }
  return preview;
}

Result<BulkPreview> count_matches(Store& store, BulkVerb verb, const TaskFilter& filter) {
  BulkPreview preview{.verb = verb};
  std::optional<std::string> cursor;
  std::int64_t looked_at = 0;
  do {
    auto page = TRY(store.list(filter, kCountPage, cursor, Parts::kHead));
    for (const TaskRecord& record : page.records) count(preview, record.task);
    looked_at += page.searched.value_or(Searched{}).tasks;
    cursor = std::move(page.cursor);
    if (cursor && (preview.matched >= kCountMax || looked_at >= kLookedAtMax)) {
      preview.exact = false;
      break;
    }
  } while (cursor);
  return preview;
}

}  // namespace

Result<BulkPreview> Engine::count_bulk(const BulkOrder& order) {
  return order.filter ? count_matches(store_, order.verb, *order.filter) : count_ids(store_, order);
}

Result<BulkPreview> Engine::preview_bulk(const BulkOrder& order) {
  TRY(check_order(order));
  const Time now = TRY(store_.now());
  return count_bulk(fixed_order(order, now));
}

Result<BulkOperation> Engine::start_bulk(const BulkOrder& order) {
  TRY(check_order(order));
  const Time now = TRY(store_.now());
  // What is enqueued from here on is not included.
  const std::int64_t newest = TRY(store_.last_task_seq());
  BulkRecord record{.operation = {.id = BulkId(new_task_id(rng_, now).bytes()),
                                  .order = fixed_order(order, now),
                                  .started_at = now,
                                  .updated_at = now},
                    .cursor = std::to_string(newest + 1)};
  const auto counted = TRY(count_bulk(record.operation.order));
  record.operation.total = counted.matched;
  record.operation.total_is_exact = counted.exact;
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto document = TRY(read_bulk_document(store_));
    if (std::cmp_greater_equal(std::ranges::count_if(document.records, &BulkRecord::is_running), kBulkRunningMax)) {
      return drover::fail(
          ErrorCode::kLimitExceeded,
          fmt::format("{} bulk operations are running, and no more are allowed at a time: wait for one, "
                      "or stop one",
                      kBulkRunningMax));
    }
    document.records.push_back(record);
    const bool written = TRY(put_bulk_document(store_, document, {bulk_event(record.operation)}));
    if (written) return without_ids(record.operation);
  }
  return too_much_contention("bulk");
}

Result<std::vector<BulkOperation>> Engine::bulk_operations() {
  auto document = TRY(read_bulk_document(store_));
  std::vector<BulkOperation> operations;
  for (BulkRecord& record : document.records) operations.push_back(without_ids(std::move(record.operation)));
  std::ranges::reverse(operations);
  return operations;
}

Result<BulkOperation> Engine::bulk_operation(const BulkId& id) {
  auto document = TRY(read_bulk_document(store_));
  const BulkRecord* record = find_record(document, id);
  if (record == nullptr) return no_such_operation(id);
  return without_ids(record->operation);
}

Result<BulkOperation> Engine::stop_bulk(const BulkId& id, const Verdict& verdict) {
  TRY(check_verdict(verdict));
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto document = TRY(read_bulk_document(store_));
    BulkRecord* record = find_record(document, id);
    if (record == nullptr) return no_such_operation(id);
    BulkOperation& operation = record->operation;
    if (operation.state == BulkState::kStopped) return operation;
    if (operation.state == BulkState::kCompleted) {
      return drover::fail(ErrorCode::kWrongState,
                          fmt::format("bulk operation {} has completed; there is nothing to stop", id.to_string()));
    }
    const Time now = TRY(store_.now());
    operation.stopped = verdict;
    end_operation(*record, BulkState::kStopped, now);
    const bool written = TRY(put_bulk_document(store_, document, {bulk_event(operation)}));
    if (written) return operation;
  }
  return too_much_contention("bulk");
}

}  // namespace drover
