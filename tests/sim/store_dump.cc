#include "sim/store_dump.h"

#include <fmt/format.h>

#include "core/task_json.h"

namespace drover::sim {
namespace {

constexpr int kPage = 1'000;

Status add_task(Store& store, const TaskRecord& record, std::string& text) {
  text += fmt::format(
      "task {} revision {} lease {} beats {} place {} unmet {} dependents {} children {} depth {} ended_by {} cascade "
      "{}\n",
      to_json(record.task), record.revision, record.lease.to_string(), record.lease_beats, record.place,
      record.unmet_parents, record.dependents, record.children, record.depth,
      record.ended_by ? record.ended_by->to_string() : "-", record.cascade_due);
  const auto runs = store.runs(record.task.id, kPage);
  if (!runs) return std::unexpected(runs.error());
  for (const RunSummary& run : *runs) text += "  run " + to_json(run) + "\n";
  const auto log = store.log(record.task.id, 0, kPage);
  if (!log) return std::unexpected(log.error());
  for (const LogRecord& piece : log->records) text += "  log " + to_json(piece) + "\n";
  return {};
}

}  // namespace

Result<std::string> dump_store(Store& store) {
  std::string text;
  std::optional<std::string> cursor;
  do {
    const auto page = store.list({}, kPage, cursor, Parts::kAll);
    if (!page) return std::unexpected(page.error());
    for (const TaskRecord& record : page->records) {
      if (auto added = add_task(store, record, text); !added) return std::unexpected(added.error());
    }
    cursor = page->cursor;
  } while (cursor);
  for (std::int64_t after = 0;;) {
    const auto events = store.events(after, kPage);
    if (!events) return std::unexpected(events.error());
    if (events->empty()) return text;
    for (const Event& event : *events) text += "event " + to_json(event) + "\n";
    after = events->back().seq;
  }
}

}  // namespace drover::sim
