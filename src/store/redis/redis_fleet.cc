// Workers, the policy document, the engine's documents and fsck over Redis.
#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "base/json.h"
#include "base/log.h"
#include "core/transition.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/reply_error.h"
#include "store/redis/restore_arguments.h"
#include "store/redis/step_arguments.h"
#include "store/worker_events.h"

namespace drover::redis {
namespace {

constexpr Millis kTrustConfigFor{500};
constexpr Millis kFsckTimeMax{600'000};

}  // namespace

Status RedisStore::register_worker(const WorkerInfo& worker) {
  json::Writer info;
  info.begin_object().key("version").string(worker.version).key("capacity").number(worker.capacity);
  info.key("serves").begin_array();
  for (const Serve& serve : worker.serves) {
    info.begin_array().string(serve.queue);
    serve.type ? info.string(*serve.type) : info.null();
    info.end_array();
  }
  info.end_array().end_object();
  const auto reply =
      ask(function("register_worker").add(worker.id, std::move(info).take(), worker.draining ? "1" : "0"));
  if (!reply) return std::unexpected(reply.error());
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
  const auto found = ask_number(
      function("drain_worker").add(order.worker_id, order.by, order.why, redis::event_text(worker_draining(order))));
  if (!found) return std::unexpected(found.error());
  if (*found != 0) committed();
  return *found != 0;
}

static Status read_worker_info(std::string_view json, WorkerInfo& worker) {
  const auto info = json::parse(json);
  if (!info) return std::unexpected(info.error());
  if (const json::Value* version = info->find("version"); version != nullptr && version->as_string() != nullptr) {
    worker.version = *version->as_string();
  }
  if (const json::Value* capacity = info->find("capacity"); capacity != nullptr) {
    worker.capacity = static_cast<int>(capacity->as_int().value_or(1));
  }
  const json::Value* serves = info->find("serves");
  if (serves == nullptr || serves->as_array() == nullptr) return {};
  for (const json::Value& item : *serves->as_array()) {
    const json::Value::Array* pair = item.as_array();
    if (pair == nullptr || pair->size() != 2 || (*pair)[0].as_string() == nullptr) continue;
    Serve serve{*(*pair)[0].as_string(), std::nullopt};
    if ((*pair)[1].as_string() != nullptr) serve.type = *(*pair)[1].as_string();
    worker.serves.push_back(std::move(serve));
  }
  return {};
}

Result<std::vector<WorkerInfo>> RedisStore::workers() {
  const auto reply = ask(function("workers"));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<WorkerInfo> workers;
  for (const Reply& item : *items) {
    const auto parts = item.as_array_of(3);
    if (!parts) return std::unexpected(parts.error());
    const auto fields = (*parts)[2].as_array();
    if (!fields) return std::unexpected(fields.error());
    WorkerInfo worker;
    worker.id = std::string((*parts)[0].as_text().value_or(""));
    worker.running = static_cast<int>((*parts)[1].as_integer().value_or(0));
    for (std::size_t i = 0; i + 1 < fields->size(); i += 2) {
      const std::string_view name = (*fields)[i].as_text().value_or("");
      const Reply& value = (*fields)[i + 1];
      if (name == "registered_at") worker.registered_at = Time(Millis(value.as_integer().value_or(0)));
      if (name == "last_beat_at") worker.last_beat_at = Time(Millis(value.as_integer().value_or(0)));
      if (name == "draining") worker.draining = value.as_integer().value_or(0) != 0;
      if (name == "drain_by") worker.drain_by = std::string(value.as_text().value_or(""));
      if (name == "drain_reason") worker.drain_reason = std::string(value.as_text().value_or(""));
      if (name != "info") continue;
      if (auto status = read_worker_info(value.as_text().value_or("{}"), worker); !status) {
        return std::unexpected(status.error());
      }
    }
    workers.push_back(std::move(worker));
  }
  std::ranges::sort(workers, [](const WorkerInfo& a, const WorkerInfo& b) {
    return std::tie(a.registered_at, a.id) < std::tie(b.registered_at, b.id);
  });
  return workers;
}

Result<std::vector<std::string>> RedisStore::forget_workers(Millis silent_for) {
  // Worker ids are names, which JSON holds as they are.
  constexpr std::string_view kMark = "@";
  const std::string event = redis::event_text(worker_gone(kMark, kGoneSilent));
  const std::size_t at = event.find(kMark);
  const auto reply =
      ask(function("forget_workers").add(silent_for.count(), event.substr(0, at), event.substr(at + kMark.size())));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<std::string> gone;
  for (const Reply& item : *items) gone.emplace_back(item.as_text().value_or(""));
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
  const auto reply = ask(function("config"));
  if (!reply) return std::unexpected(reply.error());
  const auto parts = reply->as_array_of(2);
  if (!parts) return std::unexpected(parts.error());
  const auto version = (*parts)[0].as_integer();
  const auto document = (*parts)[1].as_text();
  if (!version || !document) return std::unexpected(!version ? version.error() : document.error());
  return Config{*version, std::string(*document)};
}

Result<bool> RedisStore::put_config(const JsonText& document, std::int64_t based_on_version,
                                    std::span<const GateStep> gates, const Weights& weights) {
  Command command = function("put_config");
  redis::Pack packed_weights;
  packed_weights.put("*").put(weights.others);
  for (const auto& [owner, weight] : weights.owners) packed_weights.put(owner).put(weight);
  command.add(based_on_version, document, packed_weights.list(), redis::packed_gates(gates).list());
  const auto done = ask_number(command);
  if (!done) return std::unexpected(done.error());
  if (*done != 0) committed();
  const std::lock_guard lock(known_mutex_);
  config_.reset();
  return *done != 0;
}

Status RedisStore::restore(std::span<const DumpedTask> tasks, std::span<const Event> events) {
  const auto reply = ask(function("restore").add(packed_tasks(tasks).list(), packed_events(events).list()));
  if (!reply) return std::unexpected(reply.error());
  committed();
  return {};
}

Result<StoredDocument> RedisStore::document(DocumentKind kind) {
  const auto reply = ask(function("document").add(name_of(kind)));
  if (!reply) return std::unexpected(reply.error());
  const auto parts = reply->as_array_of(2);
  if (!parts) return std::unexpected(parts.error());
  const auto version = (*parts)[0].as_integer();
  const auto text = (*parts)[1].as_text();
  if (!version || !text) return std::unexpected(!version ? version.error() : text.error());
  return StoredDocument{*version, std::string(*text)};
}

Result<bool> RedisStore::put_document(DocumentKind kind, const JsonText& text, std::int64_t based_on_version,
                                      std::span<const EventDraft> events) {
  Command command = function("put_document");
  command.add(name_of(kind), based_on_version, text);
  for (const EventDraft& event : events) command.add(redis::event_text(event));
  const auto done = ask_number(command);
  if (!done) return std::unexpected(done.error());
  if (*done != 0 && !events.empty()) committed();
  return *done != 0;
}

// Name, revision and limits of each gate, from its record, by name. What cannot be read is left out.
void RedisStore::add_gate_limits(Command& command) {
  const auto reply = ask(Command("HGETALL", key_ + "gate_records"));
  const auto flat = reply ? reply->as_array() : std::unexpected(reply.error());
  if (!flat) return;
  std::map<std::string_view, std::string_view> records;
  for (std::size_t i = 0; i + 1 < flat->size(); i += 2) {
    records[(*flat)[i].as_text().value_or("")] = (*flat)[i + 1].as_text().value_or("");
  }
  for (const auto& [name, record] : records) {
    const std::size_t space = record.find(' ');
    if (space == std::string_view::npos) continue;
    const auto gate = gate_from_json(record.substr(space + 1));
    if (gate) command.add(name).add(record.substr(0, space)).add(limits_text(limits_of(*gate)));
  }
}

// It looks at every key in one call, however long that takes: it has a connection of its own and waits for it.
Result<std::vector<Finding>> RedisStore::fsck(FsckMode mode) {
  const Interrupt never;
  Command command = function("fsck").add(mode == FsckMode::kRepair ? "repair" : "check");
  add_gate_limits(command);
  auto reply = client_.blocking_call(command, kFsckTimeMax, never);
  if (reply && is_function_missing(*reply)) {
    if (const auto loaded = ask_time(); !loaded) return std::unexpected(loaded.error());  // any call loads the library
    reply = client_.blocking_call(command, kFsckTimeMax, never);
  }
  if (reply && reply->is_error()) return std::unexpected(error_of(*reply));
  if (!reply) return std::unexpected(reply.error());
  const auto items = reply->as_array();
  if (!items) return std::unexpected(items.error());
  std::vector<Finding> findings;
  for (const Reply& item : *items) {
    const auto parts = item.as_array_of(4);
    if (!parts) return std::unexpected(parts.error());
    Finding& finding = findings.emplace_back(Finding{std::string((*parts)[0].as_text().value_or("")),
                                                     std::string((*parts)[1].as_text().value_or("")),
                                                     (*parts)[2].as_integer().value_or(0) != 0});
    const std::string_view tasks = (*parts)[3].as_text().value_or("");
    if (mode == FsckMode::kRepair && !tasks.empty()) finding.repaired = unblock(tasks);
  }
  if (mode == FsckMode::kRepair) committed();
  return findings;
}

// As if the last parent of each had just completed: the rules say where it goes. False if one did not.
bool RedisStore::unblock(std::string_view tasks) {
  bool all = true;
  std::istringstream words{std::string(tasks)};
  for (std::string word; words >> word;) {
    const auto id = TaskId::parse(word);
    if (!id || !unblock(*id)) all = false;
  }
  return all;
}

bool RedisStore::unblock(const TaskId& id) {
  const auto now = this->now();
  auto records = read(std::span(&id, 1), Parts::kHead);
  if (!now || !records) return false;
  std::optional<TaskRecord> record = std::move(records->front());
  if (!record) return false;
  record->unmet_parents = 1;
  auto step = decide(*std::move(record), trigger::ParentDone{}, {.now = *now});
  if (!step) return false;  // it has moved on
  const StepGroup group{.steps = {*std::move(step)}, .capacity = std::nullopt};
  const auto applied = apply(std::span(&group, 1));
  return applied && applied->front() == Applied::kDone;
}

}  // namespace drover::redis
