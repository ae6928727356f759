// What agents used: from the ledger, or, by tag, from the tasks that are still there.
#include <algorithm>

#include "base/try.h"
#include "core/ledger.h"
#include "core/run_report.h"
#include "engine/engine.h"

namespace drover {
namespace {

constexpr int kTasksPerPage = 500;

Status add_tasks_by_tag(Store& store, const UsageQuery& query, UsageSum& sum) {
  std::optional<std::string> cursor;
  do {
    RecordPage page = TRY(store.list({.type = query.type, .owner = query.owner}, kTasksPerPage, cursor, Parts::kAll));
    for (const TaskRecord& record : page.records) {
      const Task& task = record.task;
      if (!task.usage) continue;
      LedgerEntry entry{.key = ledger_key(task, ""), .amounts = amounts_of(usage_of(task.usage))};
      for (const std::string& tag : task.tags) {
        entry.key.tag = tag;
        TRY(sum.add(entry));
      }
    }
    cursor = std::move(page.cursor);
  } while (cursor);
  return {};
}

}  // namespace

Result<std::vector<UsageRow>> Engine::usage(const UsageQuery& query) {
  TRY(check_usage_query(query));
  UsageSum sum(query);
  if (std::ranges::find(query.by, UsageDimension::kTag) != query.by.end()) {
    TRY(add_tasks_by_tag(store_, query, sum));
    return std::move(sum).take();
  }
  for (const std::string& day : TRY(store_.ledger_days())) {
    const bool is_wanted = (query.from.empty() || day >= query.from) && (query.to.empty() || day <= query.to);
    if (!is_wanted) continue;
    for (const LedgerEntry& entry : TRY(store_.ledger(day))) TRY(sum.add(entry));
  }
  return std::move(sum).take();
}

}  // namespace drover
