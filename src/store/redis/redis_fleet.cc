// Workers, the policy document and the engine's documents over Redis.
#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/log.h"
#include "base/try.h"
#include "store/redis/ledger_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/reply_error.h"
#include "store/redis/restore_arguments.h"
#include "store/redis/spend_text.h"
#include "store/redis/step_arguments.h"
#include "store/worker_events.h"

namespace drover::redis {
namespace {

constexpr Millis kTrustConfigFor{500};

}  // namespace

Status RedisStore::register_worker(const WorkerInfo& worker) {
  json::Writer info;
  info.begin_object().key("version").string(worker.version).key("capacity").number(worker.capacity);
  info.key("workspace_bytes").number(worker.workspace_bytes);
  info.key("serves").begin_array();
  for (const Serve& serve : worker.serves) {
    info.begin_array().string(serve.queue);
    serve.type ? info.string(*serve.type) : info.null();
    if (!serve.trouble.empty()) info.string(serve.trouble);
    info.end_array();
  }
  info.end_array().end_object();
  const auto reply =
      TRY(ask(function("register_worker")
                  .add(worker.id, std::move(info).take(), worker.draining ? "1" : "0", worker.token_id)));
  return {};
}

Status RedisStore::unregister_worker(const std::string& worker_id, const std::string& reason) {
  const auto gone =
      ask_number(function("unregister_worker").add(worker_id, redis::event_text(worker_gone(worker_id, reason))));
  if (!gone) return std::unexpected(gone.error());
  if (*gone != 0) committed();
  return {};
}

Result<bool> RedisStore::drain_worker(const DrainOrder& order) {
  const auto found = TRY(ask_number(
      function("drain_worker").add(order.worker_id, order.by, order.why, redis::event_text(worker_draining(order)))));
  if (found != 0) committed();
  return found != 0;
}

static Status read_worker_info(std::string_view json, WorkerInfo& worker) {
  const auto info = TRY(json::parse(json));
  if (const json::Value* version = info.find("version"); version != nullptr && version->as_string() != nullptr) {
    worker.version = *version->as_string();
  }
  if (const json::Value* capacity = info.find("capacity"); capacity != nullptr) {
    worker.capacity = static_cast<int>(capacity->as_int().value_or(1));
  }
  if (const json::Value* bytes = info.find("workspace_bytes"); bytes != nullptr) {
    worker.workspace_bytes = bytes->as_int().value_or(0);
  }
  const json::Value* serves = info.find("serves");
  if (serves == nullptr || serves->as_array() == nullptr) return {};
  for (const json::Value& item : *serves->as_array()) {
    const json::Value::Array* parts = item.as_array();  // queue, type, and its trouble if it has one
    if (parts == nullptr || parts->size() < 2 || (*parts)[0].as_string() == nullptr) continue;
    Serve serve{*(*parts)[0].as_string(), std::nullopt};
    if ((*parts)[1].as_string() != nullptr) serve.type = *(*parts)[1].as_string();
    if (parts->size() > 2 && parts->back().as_string() != nullptr) serve.trouble = *parts->back().as_string();
    worker.serves.push_back(std::move(serve));
  }
  return {};
}

static Result<std::vector<WorkerInfo>> read_workers(const Result<Reply>& reply, const Result<Time>& now) {
  if (!reply) return std::unexpected(reply.error());
  if (!now) return std::unexpected(now.error());
  const auto items = TRY(reply->as_array());
  std::vector<WorkerInfo> workers;
  for (const Reply& item : items) {
    const auto parts = TRY(item.as_array_of(3));
    const auto fields = TRY(parts[2].as_array());
    WorkerInfo worker;
    worker.id = std::string(parts[0].as_text().value_or(""));
    worker.running = static_cast<int>(parts[1].as_integer().value_or(0));
    Millis silent{0};
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
      const std::string_view name = fields[i].as_text().value_or("");
      const Reply& value = fields[i + 1];
      if (name == "registered_at") worker.registered_at = Time(Millis(value.as_integer().value_or(0)));
      if (name == "last_beat_at") worker.last_beat_at = Time(Millis(value.as_integer().value_or(0)));
      if (name == "silent_ms") silent = Millis(value.as_integer().value_or(0));
      if (name == "draining") worker.draining = value.as_integer().value_or(0) != 0;
      if (name == "drain_by") worker.drain_by = std::string(value.as_text().value_or(""));
      if (name == "token_id") worker.token_id = std::string(value.as_text().value_or(""));
      if (name == "drain_reason") worker.drain_reason = std::string(value.as_text().value_or(""));
      if (name != "info") continue;
      TRY(read_worker_info(value.as_text().value_or("{}"), worker));
    }
    worker.last_beat_at = last_heard(worker.last_beat_at, silent, *now);
    workers.push_back(std::move(worker));
  }
  std::ranges::sort(workers, [](const WorkerInfo& a, const WorkerInfo& b) {
    return std::tie(a.registered_at, a.id) < std::tie(b.registered_at, b.id);
  });
  return workers;
}

Result<std::vector<WorkerInfo>> RedisStore::workers() {
  return read_workers(ask(function("workers")), now());
}

Result<std::optional<WorkerInfo>> RedisStore::worker(const std::string& worker_id) {
  auto found = TRY(read_workers(ask(function("worker").add(worker_id)), now()));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<std::vector<std::string>> RedisStore::forget_workers(Millis silent_for) {
  // Worker ids are names, which JSON holds as they are.
  constexpr std::string_view kMark = "@";
  const std::string event = redis::event_text(worker_gone(kMark, kGoneSilent));
  const std::size_t at = event.find(kMark);
  const auto reply =
      ask(function("forget_workers").add(silent_for.count(), event.substr(0, at), event.substr(at + kMark.size())));
  if (!reply) return std::unexpected(reply.error());
  const auto items = TRY(reply->as_array());
  std::vector<std::string> gone;
  for (const Reply& item : items) gone.emplace_back(item.as_text().value_or(""));
  if (!gone.empty()) committed();
  return gone;
}

// What another process applied counts here a moment later.
Result<Config> RedisStore::config() {
  const MonoTime here = system_clock().mono();
  {
    const std::lock_guard lock(known_mutex_);
    const bool may_trust = options_.test_clock == nullptr;
    if (may_trust && config_ && here - config_->asked_at < kTrustConfigFor) return config_->value;
  }
  auto config = ask_config();
  if (!config) return config;
  const std::lock_guard lock(known_mutex_);
  config_ = Known<Config>{*config, here};
  return config;
}

Result<Config> RedisStore::ask_config() {
  const auto reply = TRY(ask(function("config")));
  const auto parts = TRY(reply.as_array_of(2));
  const auto version = TRY(parts[0].as_integer());
  const auto document = TRY(parts[1].as_text());
  return Config{version, std::string(document)};
}

Result<std::vector<ConfigVersion>> RedisStore::config_versions(int limit) {
  const auto reply = TRY(ask(function("config_versions").add(limit)));
  const auto items = TRY(reply.as_array());
  std::vector<ConfigVersion> versions;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto version = TRY(items[i].as_integer());
    const auto applied_at = TRY(items[i + 1].as_integer());
    versions.push_back({.version = version, .applied_at = Time(Millis(applied_at))});
  }
  return versions;
}

Result<std::optional<JsonText>> RedisStore::config_at(std::int64_t version) {
  const auto reply = TRY(ask(function("config_at").add(version)));
  const std::optional<std::string_view> document = TRY(reply.as_maybe_text());
  return document ? std::optional(JsonText(*document)) : std::nullopt;
}

Result<bool> RedisStore::put_config(const JsonText& document, std::int64_t based_on_version,
                                    std::span<const GateStep> gates, const Weights& weights,
                                    std::span<const QuestionStep> questions) {
  Command command = function("put_config");
  redis::Pack packed_weights;
  packed_weights.put("*").put(weights.others);
  for (const auto& [owner, weight] : weights.owners) packed_weights.put(owner).put(weight);
  command.add(based_on_version, document, packed_weights.list(), redis::packed_gates(gates, questions).list());
  const auto done = TRY(ask_number(command));
  if (done != 0) committed();
  const std::lock_guard lock(known_mutex_);
  config_.reset();
  return done != 0;
}

Status RedisStore::restore(std::span<const DumpedTask> tasks, std::span<const Event> events,
                           std::span<const LedgerEntry> ledger, std::span<const SpendEntry> spend) {
  TRY(ask(function("restore").add(packed_tasks(tasks).list(), packed_events(events).list(), redis::ledger_text(ledger),
                                  redis::packed_spend(spend).list())));
  committed();
  return {};
}

Status RedisStore::restore_config(std::span<const DumpedPolicy> versions) {
  Command command = function("restore_config");
  for (const DumpedPolicy& policy : versions) {
    command.add(policy.version.version, policy.version.applied_at.time_since_epoch().count(), policy.document);
  }
  TRY(ask(command));
  committed();
  const std::lock_guard lock(known_mutex_);
  config_.reset();
  return {};
}

Result<StoredDocument> RedisStore::document(DocumentKind kind) {
  const auto reply = TRY(ask(function("document").add(name_of(kind))));
  const auto parts = TRY(reply.as_array_of(3));
  const auto version = TRY(parts[0].as_integer());
  const auto text = TRY(parts[1].as_text());
  const auto due = TRY(parts[2].as_text());
  return StoredDocument{.version = version, .text = std::string(text), .due = due == "1"};
}

Result<bool> RedisStore::put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                                      std::span<const EventDraft> events) {
  Command command = function("put_document");
  command.add(name_of(kind), based_on_version, text);
  for (const EventDraft& event : events) command.add(redis::event_text(event));
  const auto done = TRY(ask_number(command));
  if (done != 0 && !events.empty()) committed();
  return done != 0;
}

}  // namespace drover::redis
