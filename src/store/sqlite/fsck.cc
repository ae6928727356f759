#include "store/sqlite/fsck.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/check.h"
#include "core/inventory.h"
#include "core/transition.h"
#include "embedded/sqlite.h"
#include "store/sqlite/event_page.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/record_columns.h"
#include "store/sqlite/record_row.h"
#include "store/sqlite/step_write.h"

namespace drover::sqlite {
namespace {

// Of one kind; the rest is summed up in one more.
constexpr std::size_t kFindingsMax = 100;

constexpr std::string_view kEventPages = named_sql(embedded::fsck_sql, "event_pages");
constexpr std::string_view kInventory = named_sql(embedded::fsck_sql, "inventory");
constexpr std::string_view kPutFirstEvent = named_sql(embedded::retention_sql, "put_first_event");
constexpr std::string_view kPutLastEvent = named_sql(embedded::fsck_sql, "put_last_event");

void add_views(Connection& db) {
  static const std::string kScript = with_columns(named_sql(embedded::fsck_sql, "views"));
  db.execute_script(kScript);
}

struct Check {
  std::string_view code;
  std::string_view find;
  std::string_view repair = {};          // a script
  void (*mend)(Transaction&) = nullptr;  // or a function
};

std::vector<TaskId> ids_found(Connection& db, std::string_view find) {
  std::vector<TaskId> ids;
  Statement query = db.prepare(find);
  while (query.step()) ids.push_back(query.task_id());
  return ids;
}

// As if the last parent had just completed: the rules say where the task goes.
void unblock(Transaction& transaction) {
  for (const TaskId& id : ids_found(transaction.db(), named_sql(embedded::fsck_sql, "find_blocked_for_nothing"))) {
    std::optional<TaskRecord> record = read_task(transaction.db(), id, Parts::kHead);
    const std::optional<Stored> stored = find_stored(transaction.db(), id);
    if (!record || !stored) throw SqliteFailure(SQLITE_CORRUPT, "a task is there and is not: " + id.to_string());
    record->unmet_parents = 1;
    const Result<Step> step = decide(*record, trigger::ParentDone{}, {.now = transaction.now()});
    CHECK(step.has_value());
    update_task(transaction, *stored, *step);
  }
}

void give_places(Transaction& transaction) {
  for (const TaskId& id : ids_found(transaction.db(), named_sql(embedded::fsck_sql, "find_place_missing"))) {
    transaction.db().run("UPDATE task SET place = ?1 WHERE id = ?2", transaction.next_place(), id);
  }
}

void give_leases(Transaction& transaction) {
  const MonoTime now = transaction.mono();
  transaction.db().run(named_sql(embedded::fsck_sql, "repair_lease_missing"), (now + ClaimRequest().lease).since_origin,
                       now.since_origin);
}

void raise_sequences(Transaction& transaction) {
  transaction.raise_sequences();
}

// In this order: what later ones count is right by then.
const std::array kChecks{
    Check{"number_wrong", named_sql(embedded::fsck_sql, "find_sequence"), {}, raise_sequences},
    Check{"body_missing", named_sql(embedded::fsck_sql, "find_body_missing")},
    Check{"body_orphan", named_sql(embedded::fsck_sql, "find_body_orphan"),
          named_sql(embedded::fsck_sql, "repair_body_orphan")},
    Check{"checkpoint_orphan", named_sql(embedded::fsck_sql, "find_checkpoint_orphan"),
          named_sql(embedded::fsck_sql, "repair_checkpoint_orphan")},
    Check{"run_orphan", named_sql(embedded::fsck_sql, "find_run_orphan"),
          named_sql(embedded::fsck_sql, "repair_run_orphan")},
    Check{"log_orphan", named_sql(embedded::fsck_sql, "find_log_orphan"),
          named_sql(embedded::fsck_sql, "repair_log_orphan")},
    Check{"log_total_orphan", named_sql(embedded::fsck_sql, "find_log_total_orphan"),
          named_sql(embedded::fsck_sql, "repair_log_total_orphan")},
    Check{"log_total_wrong", named_sql(embedded::fsck_sql, "find_log_total"),
          named_sql(embedded::fsck_sql, "repair_log_total")},
    Check{"tag_index_wrong", named_sql(embedded::fsck_sql, "find_tag_index"),
          named_sql(embedded::fsck_sql, "repair_tag_index")},
    Check{"dependency_index_wrong", named_sql(embedded::fsck_sql, "find_dependency_index"),
          named_sql(embedded::fsck_sql, "repair_dependency_index")},
    Check{"dependents_count_wrong", named_sql(embedded::fsck_sql, "find_dependents_count"),
          named_sql(embedded::fsck_sql, "repair_dependents_count")},
    Check{"children_count_wrong", named_sql(embedded::fsck_sql, "find_children_count"),
          named_sql(embedded::fsck_sql, "repair_children_count")},
    Check{"conversation_orphan", named_sql(embedded::fsck_sql, "find_conversation_orphan"),
          named_sql(embedded::fsck_sql, "repair_conversation_orphan")},
    Check{"conversation_body_orphan", named_sql(embedded::fsck_sql, "find_conversation_body"),
          named_sql(embedded::fsck_sql, "repair_conversation_body")},
    Check{"lease_missing", named_sql(embedded::fsck_sql, "find_lease_missing"), {}, give_leases},
    Check{"lease_without_run", named_sql(embedded::fsck_sql, "find_lease_without_run"),
          named_sql(embedded::fsck_sql, "repair_lease_without_run")},
    Check{"run_number_wrong", named_sql(embedded::fsck_sql, "find_run_number")},
    Check{"finish_time_wrong", named_sql(embedded::fsck_sql, "find_finish_time")},
    Check{"run_at_missing", named_sql(embedded::fsck_sql, "find_run_at_missing")},
    Check{"usage_wrong", named_sql(embedded::fsck_sql, "find_usage_wrong")},
    Check{"index_column_wrong", named_sql(embedded::fsck_sql, "find_indexed"),
          named_sql(embedded::fsck_sql, "repair_indexed")},
    Check{"dedupe_index_wrong", named_sql(embedded::fsck_sql, "find_dedupe"),
          named_sql(embedded::fsck_sql, "repair_dedupe")},
    Check{"event_gap", named_sql(embedded::fsck_sql, "find_event_gap")},
    Check{"event_state_wrong", named_sql(embedded::fsck_sql, "find_event_state")},
    Check{"parent_end_forgotten", named_sql(embedded::fsck_sql, "find_parent_end_forgotten"),
          named_sql(embedded::fsck_sql, "repair_parent_end_forgotten")},
    Check{"question_orphan", named_sql(embedded::fsck_sql, "find_question_orphan"),
          named_sql(embedded::fsck_sql, "repair_question_orphan")},
    Check{"question_index_wrong", named_sql(embedded::fsck_sql, "find_question_columns"),
          named_sql(embedded::fsck_sql, "repair_question_columns")},
    Check{"question_open_wrong", named_sql(embedded::fsck_sql, "find_question_open"),
          named_sql(embedded::fsck_sql, "repair_question_open")},
    Check{"open_questions_wrong", named_sql(embedded::fsck_sql, "find_open_questions"),
          named_sql(embedded::fsck_sql, "repair_open_questions")},
    Check{"asked_wrong", named_sql(embedded::fsck_sql, "find_asked"), named_sql(embedded::fsck_sql, "repair_asked")},
    Check{"unmet_parents_wrong", named_sql(embedded::fsck_sql, "find_unmet_parents"),
          named_sql(embedded::fsck_sql, "repair_unmet_parents")},
    Check{"blocked_for_nothing", named_sql(embedded::fsck_sql, "find_blocked_for_nothing"), {}, unblock},
    Check{"place_missing", named_sql(embedded::fsck_sql, "find_place_missing"), {}, give_places},
    Check{"place_twice", named_sql(embedded::fsck_sql, "find_place_twice")},
    Check{"lane_of_task_wrong", named_sql(embedded::fsck_sql, "find_lane_of_task"),
          named_sql(embedded::fsck_sql, "repair_lane")},
    Check{"lane_wrong", named_sql(embedded::fsck_sql, "find_lane"), named_sql(embedded::fsck_sql, "repair_lane")},
    Check{"line_wrong", named_sql(embedded::fsck_sql, "find_line"), named_sql(embedded::fsck_sql, "repair_line")},
    Check{"gate_wait_wrong", named_sql(embedded::fsck_sql, "find_gate_wait"),
          named_sql(embedded::fsck_sql, "repair_gate_wait")},
    Check{"weights_missing", named_sql(embedded::fsck_sql, "find_weights")},
    Check{"held_bytes_wrong", named_sql(embedded::fsck_sql, "find_held_bytes"),
          named_sql(embedded::fsck_sql, "repair_held_bytes")},
    Check{"counts_wrong", named_sql(embedded::fsck_sql, "find_counts"), named_sql(embedded::fsck_sql, "repair_counts")},
    Check{"counts_wrong", named_sql(embedded::fsck_sql, "find_answer_waits"),
          named_sql(embedded::fsck_sql, "repair_answer_waits")},
};

// What SQLite itself has to say of its pages, indexes and constraints.
std::vector<Finding> find_damage(Connection& db) {
  std::vector<Finding> findings;
  Statement query = db.prepare("PRAGMA integrity_check(100)");
  while (query.step()) {
    std::string text = query.text();
    if (text != "ok") findings.push_back({"database_damaged", std::move(text)});
  }
  return findings;
}

std::vector<Finding> find_unreadable(Connection& db) {
  std::vector<Finding> findings;
  Statement query = db.prepare("SELECT * FROM record");
  while (query.step()) {
    try {
      static_cast<void>(read_all(query));
    } catch (const SqliteFailure& failure) {
      if (findings.size() == kFindingsMax) break;
      findings.push_back({"record_unreadable", failure.what()});
    }
  }
  return findings;
}

// Fills in what the events say of the state of each task.
std::vector<Finding> find_unreadable_events(Connection& db) {
  std::vector<Finding> findings;
  db.run("DELETE FROM temp.last_event");
  Statement query = db.prepare(kEventPages);
  while (query.step()) {
    const std::int64_t first = query.integer();
    const std::int64_t last = query.integer();
    try {
      const std::vector<Event> events = unpack_events(query.text(), first);
      if (events.empty() || events.back().seq != last) {
        throw SqliteFailure(SQLITE_CORRUPT, fmt::format("events {} to {} are {}", first, last, events.size()));
      }
      for (const Event& event : events) {
        db.run(kPutLastEvent, event.task, static_cast<int>(event.state));
      }
    } catch (const SqliteFailure& failure) {
      if (failure.primary_code() != SQLITE_CORRUPT) throw;
      if (findings.size() < kFindingsMax) findings.push_back({"event_unreadable", failure.what()});
    }
  }
  return findings;
}

std::vector<Finding> find(Connection& db, const Check& check) {
  std::vector<Finding> findings;
  Statement query = db.prepare(check.find);
  std::size_t count = 0;
  while (query.step()) {
    if (++count > kFindingsMax) continue;
    const std::optional<TaskId> id = query.maybe_task_id();
    const std::string what = query.text();
    findings.push_back({std::string(check.code), id ? fmt::format("task {}: {}", id->to_string(), what) : what});
  }
  if (count > kFindingsMax) {
    findings.push_back({std::string(check.code), fmt::format("and {} more", count - kFindingsMax)});
  }
  return findings;
}

// A damaged page stops the query that meets it, not the others.
template <class Body>
void collect(std::vector<Finding>& all, Body body) {
  try {
    const std::vector<Finding> found = body();
    all.insert(all.end(), found.begin(), found.end());
  } catch (const SqliteFailure& failure) {
    if (failure.primary_code() != SQLITE_CORRUPT) throw;
    all.push_back({"database_damaged", failure.what()});
  }
}

void mark_repaired(std::vector<Finding>& findings, bool gone) {
  for (Finding& finding : findings) finding.repaired = gone;
}

std::vector<Finding> mend_indexes(Connection& db) {
  std::vector<Finding> findings = find_damage(db);
  if (findings.empty()) return findings;
  db.execute_script("REINDEX");
  mark_repaired(findings, find_damage(db).empty());
  return findings;
}

// What follows from limits, which only C++ knows.
std::optional<Finding> find_wrong(Connection& db, GateRows& gates, const Gate& gate, Time now) {
  const std::int64_t in_use = count_in_use(db, gate);
  if (gate.use.in_use != in_use) {
    return Finding{"permits_wrong", fmt::format("gate {} counts {} running tasks, but there are {}", gate.name(),
                                                gate.use.in_use, in_use)};
  }
  if (!is_asleep(db, gates, gate, now)) return std::nullopt;
  return Finding{"gate_asleep", fmt::format("lanes wait at gate {} that nobody will look at", gate.name())};
}

std::vector<Finding> find_gates(Connection& db, Time now) {
  std::vector<Finding> findings;
  GateRows gates(db);
  for (const std::string& name : gates_in_use(db)) {
    std::optional<Finding> finding = find_wrong(db, gates, gates.get(name), now);
    if (finding && findings.size() < kFindingsMax) findings.push_back(*std::move(finding));
  }
  if (stored_asides(db) != count_asides(db, gates)) {
    findings.push_back({"aside_wrong", "what is set aside behind gates with budgets is not that of the running tasks"});
  }
  return findings;
}

std::vector<Finding> mend_gates(Transaction& transaction) {
  GateRows& gates = transaction.gates();
  gates.flush();
  gates.clear();
  std::vector<Finding> findings = find_gates(transaction.db(), transaction.now());
  if (findings.empty()) return findings;
  for (const std::string& name : gates_in_use(transaction.db())) {
    Gate& gate = gates.get(name);
    gate.use.in_use = count_in_use(transaction.db(), gate);
    if (is_asleep(transaction.db(), gates, gate, transaction.now())) gate.wake_at = transaction.now();
    gates.changed(gate);
  }
  recount_asides(transaction);
  gates.flush();
  mark_repaired(findings, find_gates(transaction.db(), transaction.now()).empty());
  return findings;
}

Inventory read_inventory(Connection& db) {
  Statement query = db.prepare(kInventory);
  if (!query.step()) throw SqliteFailure(SQLITE_CORRUPT, "table sequence is empty");
  Inventory inventory;
  for (Inventory::Document* document : {&inventory.policy, &inventory.access_tokens}) {
    document->version = query.integer();
    document->is_there = query.integer() != 0;
  }
  inventory.first_event = query.integer();
  inventory.last_event = query.integer();
  inventory.first_event_there = query.maybe_integer();
  return inventory;
}

// Nothing tells what they held. Of events that are gone a repair tells for the last time.
std::vector<Finding> give_up_missing(Transaction& transaction) {
  transaction.write_events();
  const Inventory inventory = read_inventory(transaction.db());
  transaction.db().run(kPutFirstEvent, inventory.first_event_there.value_or(transaction.last_event_seq() + 1));
  return find_missing(inventory);
}

std::vector<Finding> mend(Transaction& transaction, const Check& check) {
  Connection& db = transaction.db();
  std::vector<Finding> findings = find(db, check);
  if (findings.empty() || (check.repair.empty() && check.mend == nullptr)) return findings;
  if (check.mend != nullptr) {
    check.mend(transaction);
    transaction.write_counts();
    transaction.gates().flush();
  } else {
    db.execute_script(check.repair);
  }
  // The sequences themselves are written with the commit.
  mark_repaired(findings, check.mend == raise_sequences || find(db, check).empty());
  return findings;
}

}  // namespace

std::vector<Finding> missing_in(Connection& db) {
  return find_missing(read_inventory(db));
}

std::vector<Finding> check_database(Connection& db, Time now) {
  add_views(db);
  std::vector<Finding> findings;
  collect(findings, [&] { return find_damage(db); });
  collect(findings, [&] { return find_unreadable(db); });
  collect(findings, [&] { return find_unreadable_events(db); });
  for (const Check& check : kChecks) collect(findings, [&] { return find(db, check); });
  collect(findings, [&] { return find_gates(db, now); });
  collect(findings, [&] { return missing_in(db); });
  return findings;
}

std::vector<Finding> repair_database(Transaction& transaction) {
  add_views(transaction.db());
  std::vector<Finding> findings;
  collect(findings, [&] { return mend_indexes(transaction.db()); });
  collect(findings, [&] { return find_unreadable(transaction.db()); });
  collect(findings, [&] { return find_unreadable_events(transaction.db()); });
  for (const Check& check : kChecks) collect(findings, [&] { return mend(transaction, check); });
  collect(findings, [&] { return mend_gates(transaction); });
  collect(findings, [&] { return give_up_missing(transaction); });
  return findings;
}

}  // namespace drover::sqlite
