#include "store/sqlite/fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/questions.h"
#include "store/worker_events.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kRegisterWorker = named_sql(embedded::fleet_sql, "register_worker");
constexpr std::string_view kUnregisterWorker = named_sql(embedded::fleet_sql, "unregister_worker");
constexpr std::string_view kDrainWorker = named_sql(embedded::fleet_sql, "drain_worker");
constexpr std::string_view kRunningByWorker = named_sql(embedded::fleet_sql, "running_by_worker");
constexpr std::string_view kDocument = named_sql(embedded::fleet_sql, "document");
constexpr std::string_view kPutDocument = named_sql(embedded::fleet_sql, "put_document");
constexpr std::string_view kForgetConfig = named_sql(embedded::fleet_sql, "forget_config");
constexpr std::string_view kAnyDocumentDue = named_sql(embedded::fleet_sql, "any_document_due");
constexpr std::string_view kWorker = named_sql(embedded::fleet_sql, "worker");
constexpr std::string_view kWorkers = named_sql(embedded::fleet_sql, "workers");
constexpr std::string_view kForgetWorkers = named_sql(embedded::fleet_sql, "forget_workers");
constexpr std::string_view kConfigVersions = named_sql(embedded::fleet_sql, "config_versions");
constexpr std::string_view kConfigAt = named_sql(embedded::fleet_sql, "config_at");
constexpr std::string_view kConfig = named_sql(embedded::fleet_sql, "config");
constexpr std::string_view kNotePolicy = named_sql(embedded::fleet_sql, "note_policy");
constexpr std::string_view kNoteAccessTokens = named_sql(embedded::fleet_sql, "note_access_tokens");
constexpr std::string_view kDeleteWeights = named_sql(embedded::fleet_sql, "delete_weights");
constexpr std::string_view kInsertWeight = named_sql(embedded::fleet_sql, "insert_weight");
constexpr std::string_view kPutConfig = named_sql(embedded::fleet_sql, "put_config");

std::string pack_serves(const std::vector<Serve>& serves) {
  json::Writer writer;
  writer.begin_array();
  for (const Serve& serve : serves) {
    writer.begin_array().string(serve.queue);
    if (serve.type) {
      writer.string(*serve.type);
    } else {
      writer.null();
    }
    if (!serve.trouble.empty()) writer.string(serve.trouble);
    writer.end_array();
  }
  writer.end_array();
  return std::move(writer).take();
}

Serve unpack_serve(const json::Value& item) {
  const json::Value::Array* parts = item.as_array();  // queue, type, and its trouble if it has one
  if (parts == nullptr || parts->size() < 2 || (*parts)[0].as_string() == nullptr) {
    throw SqliteFailure(SQLITE_CORRUPT, "unreadable serves of a worker");
  }
  Serve serve{*(*parts)[0].as_string(), std::nullopt};
  if (const std::string* type = (*parts)[1].as_string()) serve.type = *type;
  if (parts->size() > 2 && parts->back().as_string() != nullptr) serve.trouble = *parts->back().as_string();
  return serve;
}

std::vector<Serve> unpack_serves(const std::string& packed) {
  const Result<json::Value> value = json::parse(packed);
  const json::Value::Array* items = value ? value->as_array() : nullptr;
  if (items == nullptr) throw SqliteFailure(SQLITE_CORRUPT, "unreadable serves of a worker");
  std::vector<Serve> serves;
  for (const json::Value& item : *items) serves.push_back(unpack_serve(item));
  return serves;
}

void add_event(Transaction& transaction, const EventDraft& event) {
  transaction.add_event(Task(), event.name, event.data);
}

std::map<std::string, int> count_running(Connection& db) {
  Statement query = db.prepare(kRunningByWorker);
  std::map<std::string, int> running;
  while (query.step()) {
    const std::string worker = query.text();
    running[worker] = query.small();
  }
  return running;
}

WorkerInfo read_worker_row(Statement& row, const Clock& clock) {
  WorkerInfo worker;
  worker.id = row.text();
  worker.version = row.text();
  worker.serves = unpack_serves(row.text());
  worker.capacity = row.small();
  worker.registered_at = row.time();
  worker.last_beat_at = row.time();
  const MonoTime last_beat{Millis(row.integer())};
  if (last_beat >= MonoTime{})
    worker.last_beat_at = last_heard(worker.last_beat_at, clock.mono() - last_beat, clock.wall());
  worker.draining = row.flag();
  worker.drain_by = row.text();
  worker.drain_reason = row.text();
  worker.token_id = row.text();
  worker.workspace_bytes = row.integer();
  return worker;
}

void write_weights(Connection& db, const Weights& weights) {
  db.run(kDeleteWeights);
  db.run(kInsertWeight, "*", weights.others);
  for (const auto& [owner, weight] : weights.owners) db.run(kInsertWeight, owner, weight);
}

}  // namespace

void put_worker(Transaction& transaction, const WorkerInfo& worker) {
  transaction.db().run(kRegisterWorker, worker.id, worker.version, pack_serves(worker.serves), worker.capacity,
                       transaction.now(), transaction.mono().since_origin, worker.draining, worker.token_id,
                       worker.workspace_bytes);
}

void delete_worker(Transaction& transaction, const std::string& id, const std::string& reason) {
  transaction.db().run(kUnregisterWorker, id);
  if (transaction.db().changes() > 0) add_event(transaction, worker_gone(id, reason));
}

bool order_drain(Transaction& transaction, const DrainOrder& order) {
  transaction.db().run(kDrainWorker, order.worker_id, order.by, order.why);
  if (transaction.db().changes() == 0) return false;
  add_event(transaction, worker_draining(order));
  return true;
}

std::vector<WorkerInfo> read_workers(Connection& db, const Clock& clock) {
  Statement query = db.prepare(kWorkers);
  const std::map<std::string, int> running = count_running(db);
  std::vector<WorkerInfo> workers;
  while (query.step()) {
    WorkerInfo worker = read_worker_row(query, clock);
    if (const auto found = running.find(worker.id); found != running.end()) worker.running = found->second;
    workers.push_back(std::move(worker));
  }
  return workers;
}

std::optional<WorkerInfo> read_worker(Connection& db, const std::string& id, const Clock& clock) {
  Statement query = db.prepare(kWorker);
  if (!query.bind(id).step()) return std::nullopt;
  return read_worker_row(query, clock);
}

std::vector<std::string> delete_silent_workers(Transaction& transaction, Millis silent_for) {
  Statement deletion = transaction.db().prepare(kForgetWorkers);
  deletion.bind(transaction.mono().since_origin - silent_for);
  std::vector<std::pair<std::int64_t, std::string>> gone;
  while (deletion.step()) {
    const std::int64_t last_beat = deletion.integer();
    gone.emplace_back(last_beat, deletion.text());
  }
  // As Redis tells of them: who fell silent first comes first.
  std::ranges::sort(gone);
  std::vector<std::string> ids;
  for (auto& [last_beat, id] : gone) ids.push_back(std::move(id));
  for (const std::string& id : ids) add_event(transaction, worker_gone(id, kGoneSilent));
  return ids;
}

Config read_config(Connection& db) {
  Statement query = db.prepare(kConfig);
  if (!query.step()) throw SqliteFailure(SQLITE_CORRUPT, "table sequence is empty");
  const std::int64_t version = query.integer();
  return {version, query.text()};
}

std::vector<ConfigVersion> read_config_versions(Connection& db, int limit) {
  std::vector<ConfigVersion> versions;
  Statement query = db.prepare(kConfigVersions);
  query.bind(limit);
  while (query.step()) {
    const std::int64_t version = query.integer();
    versions.push_back({.version = version, .applied_at = query.time()});
  }
  return versions;
}

std::optional<JsonText> read_config_at(Connection& db, std::int64_t version) {
  Statement query = db.prepare(kConfigAt);
  if (!query.bind(version).step()) return std::nullopt;
  return query.text();
}

bool write_config(Transaction& transaction, const JsonText& document, std::int64_t based_on_version,
                  std::span<const GateStep> gates, const Weights& weights, std::span<const QuestionStep> questions) {
  if (read_config(transaction.db()).version != based_on_version) return false;
  for (const GateStep& gate : gates) {
    if (!still_holds(transaction, gate)) return false;
  }
  for (const QuestionStep& question : questions) {
    if (!still_holds(transaction.db(), question)) return false;
  }
  for (const GateStep& gate : gates) write_gate(transaction, gate);
  for (const QuestionStep& question : questions) write_question(transaction, question);
  write_weights(transaction.db(), weights);
  transaction.db().run(kPutConfig, based_on_version + 1, document, transaction.now());
  transaction.db().run(kNotePolicy, based_on_version + 1);
  return true;
}

void restore_config(Transaction& transaction, std::span<const DumpedPolicy> versions) {
  transaction.db().run(kForgetConfig);
  for (const DumpedPolicy& policy : versions) {
    transaction.db().run(kPutConfig, policy.version.version, policy.document, policy.version.applied_at);
  }
  transaction.db().run(kNotePolicy, versions.back().version.version);
}

StoredDocument read_document(Connection& db, DocumentKind kind) {
  Statement query = db.prepare(kDocument);
  query.bind(name_of(kind));
  if (!query.step()) return {};
  StoredDocument document{.version = query.integer(), .text = query.text()};
  document.due = query.integer() != 0;
  return document;
}

bool is_any_document_due(Connection& db) {
  return db.number(kAnyDocumentDue) == 1;
}

bool still_holds(Connection& db, const DocumentStep& step) {
  return read_document(db, step.kind).version == step.expected_version;
}

void write_document(Transaction& transaction, const DocumentStep& step) {
  const std::int64_t version = step.expected_version + 1;
  transaction.db().run(kPutDocument, name_of(step.kind), version, step.text, step.due ? 1 : 0);
  if (step.kind == DocumentKind::kAccessTokens) transaction.db().run(kNoteAccessTokens, version);
  for (const EventDraft& event : step.events) add_event(transaction, event);
}

}  // namespace drover::sqlite
