#include "store/sqlite/retention.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/planted_bug.h"
#include "embedded/sqlite.h"
#include "store/sqlite/ledger.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kOldestFinished = named_sql(embedded::retention_sql, "oldest_finished");
constexpr std::string_view kDeleteEmptyCounts = named_sql(embedded::retention_sql, "delete_empty_counts");
constexpr std::string_view kForgetShares = named_sql(embedded::lanes_sql, "forget_shares");
constexpr std::string_view kForgetUnusedGates = named_sql(embedded::gates_sql, "forget_unused");
constexpr std::string_view kOldestEvents = named_sql(embedded::retention_sql, "oldest_events");
constexpr std::string_view kDeleteEvents = named_sql(embedded::retention_sql, "delete_events");
constexpr std::string_view kPutFirstEvent = named_sql(embedded::retention_sql, "put_first_event");
constexpr std::string_view kShortenEvents = named_sql(embedded::retention_sql, "shorten_events");
constexpr std::array kDeletions{
    named_sql(embedded::questions_sql, "delete_of_task"),  // while the task's row still tells its id
    named_sql(embedded::retention_sql, "delete_task"),
    named_sql(embedded::retention_sql, "delete_body"),
    named_sql(embedded::retention_sql, "delete_checkpoint"),
    named_sql(embedded::retention_sql, "delete_tags"),
    named_sql(embedded::retention_sql, "delete_dependencies_on"),
    named_sql(embedded::retention_sql, "delete_dependencies_of"),
    named_sql(embedded::retention_sql, "delete_runs"),
    named_sql(embedded::retention_sql, "delete_log"),
    named_sql(embedded::retention_sql, "delete_log_total"),
};

// A task makes several events.
constexpr int kEventsPerTask = 10;

struct Finished {
  std::int64_t seq = 0;
  Time finished_at{};
  std::int64_t held_bytes = 0;
  bool is_needed = false;  // an unfinished task depends on it
  Task task;               // as far as its event needs it
};

std::vector<Finished> oldest_finished(Connection& db, int limit, bool with_needed) {
  Statement query = db.prepare(kOldestFinished);
  query.bind(limit, with_needed);
  std::vector<Finished> found;
  while (query.step()) {
    Finished finished;
    finished.seq = query.integer();
    finished.finished_at = query.time();
    finished.held_bytes = query.integer();
    finished.is_needed = query.flag();
    finished.task.id = query.task_id();
    finished.task.type = query.text();
    finished.task.queue = query.text();
    finished.task.owner = query.text();
    finished.task.state = static_cast<TaskState>(query.small());
    finished.task.run = query.small();
    finished.task.generation = query.small();
    found.push_back(std::move(finished));
  }
  return found;
}

struct Page {
  std::int64_t last = 0;
  std::vector<Event> events;
};

Page oldest_events(Connection& db) {
  Statement query = db.prepare(kOldestEvents);
  Page page;
  if (!query.step()) return page;
  const std::int64_t first = query.integer();
  page.last = query.integer();
  page.events = unpack_events(query.text(), first);
  return page;
}

void shorten(Connection& db, const Page& page, std::span<const Event> stay) {
  EventPage lines;
  for (const Event& event : stay) lines.add(event);
  db.run(kShortenEvents, page.last, stay.front().seq, lines.lines());
  db.run(kPutFirstEvent, stay.front().seq);
}

void expire_events(Transaction& transaction, const Retention& retention, int limit) {
  transaction.write_events();
  const std::int64_t first_kept = transaction.last_event_seq() - retention.events_max + 1;
  const auto stays = [&](const Event& event) { return event.at > retention.events_until && event.seq >= first_kept; };
  for (int gone = 0; gone < limit;) {
    const Page page = oldest_events(transaction.db());
    // The first one to stay ends the search, so that no hole is torn when the wall clock has jumped.
    const auto first = std::ranges::find_if(page.events, stays);
    if (first == page.events.begin()) return;
    if (first != page.events.end()) return shorten(transaction.db(), page, {first, page.events.end()});
    transaction.db().run(kDeleteEvents, page.last);
    transaction.db().run(kPutFirstEvent, page.last + 1);
    gone += static_cast<int>(page.events.size());
  }
}

// What owners and gates leave behind that nothing depends on.
void forget_unused(Transaction& transaction, int limit) {
  // Counts that this very transaction empties go the next time.
  transaction.db().run(kDeleteEmptyCounts);
  transaction.db().run(kForgetShares, limit);
  transaction.gates().flush();
  transaction.gates().clear();
  transaction.db().run(kForgetUnusedGates, transaction.now().time_since_epoch().count() * 1'000);
}

}  // namespace

void delete_task_rows(Connection& db, std::int64_t seq) {
  for (const std::string_view deletion : kDeletions) db.run(deletion, seq);
}

int expire_finished(Transaction& transaction, const Retention& retention, int limit) {
  CountChanges::Change kept = transaction.finished();
  const auto are_too_many = [&] { return kept.tasks > retention.tasks_max || kept.bytes > retention.bytes_max; };
  const bool with_needed = are_too_many() || planted(PlantedBug::kRetentionTakesParents);
  int gone = 0;
  for (const Finished& finished : oldest_finished(transaction.db(), limit, with_needed)) {
    const bool too_old = finished.finished_at <= retention.finished_until;
    if (!too_old && !are_too_many()) break;
    // Its result is still to be read, unless there is no room for it.
    if (finished.is_needed && !are_too_many() && !planted(PlantedBug::kRetentionTakesParents)) continue;
    delete_task_rows(transaction.db(), finished.seq);
    transaction.count(finished.task, finished.task.state, {-1, -finished.held_bytes});
    transaction.add_event(finished.task, "task.deleted", "{}");
    kept.tasks -= 1;
    kept.bytes -= finished.held_bytes;
    ++gone;
  }
  if (gone > 0) forget_unused(transaction, limit);
  expire_events(transaction, retention, limit * kEventsPerTask);
  forget_ledger_before(transaction.db(), retention.ledger_from);
  return gone;
}

}  // namespace drover::sqlite
