#include "engine/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/dedupe.h"
#include "core/lane.h"
#include "core/spec_check.h"

namespace drover {

namespace {

std::unexpected<Error> too_large(std::string_view field, std::size_t bytes, std::int64_t bytes_max) {
  return fail(ErrorCode::kPayloadTooLarge,
              fmt::format("{}: has {} bytes; at most {} are taken", field, bytes, bytes_max));
}

// What a limit of the policy says of sizes; the rest of a spec is core's to check.
Status check_sizes(const TaskSpec& spec, const Limits& limits) {
  const auto bytes_max = static_cast<std::size_t>(limits.payload_bytes);
  for (const auto& [field, value] : {std::pair{"prompt", &spec.prompt}, {"system_prompt", &spec.system_prompt}}) {
    if (!*value || (*value)->size() <= bytes_max) continue;
    return too_large(field, (*value)->size(), limits.payload_bytes);
  }
  return {};
}

Result<std::optional<JsonText>> checked_json(std::string_view field, const std::optional<JsonText>& value,
                                             std::int64_t bytes_max) {
  if (!value) return std::nullopt;
  auto compact = json::compact(*value);
  if (!compact) return fail(compact.error().code, fmt::format("{}: {}", field, compact.error().message));
  if (compact->size() > static_cast<std::size_t>(bytes_max)) return too_large(field, compact->size(), bytes_max);
  return std::move(*compact);
}

std::optional<Time> deadline_of(const TaskSpec& spec, const TypePolicy& type, Time now) {
  if (spec.deadline_at) return spec.deadline_at;
  if (spec.deadline) return now + *spec.deadline;
  if (type.deadline) return now + *type.deadline;
  return std::nullopt;
}

// Its own gates, in the order in which they are asked.
std::vector<std::string> gates_from(const TaskSpec& spec, const TypePolicy& type) {
  std::vector<std::string> gates;
  for (const std::string& lock : spec.locks) gates.push_back("lock:" + lock);
  std::ranges::sort(gates);
  if (type.provider) gates.insert(gates.begin(), "provider:" + *type.provider);
  return gates;
}

// A cost that no burst ever allows would wait for ever.
Status check_cost(const Task& task, const Policy& policy) {
  if (task.cost == kCostBounds.min) return {};  // which every burst allows
  for (const std::string& gate : gates_of(task)) {
    const auto rate = policy.gate(gate).rate;
    if (!rate || task.cost <= rate->burst) continue;
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("cost: is {}; the rate of {} lets at most {} go at once", task.cost, gate, rate->burst));
  }
  return {};
}

// A key alone asks for one at a time; a mode alone speaks of the same type and payload.
void choose_dedupe(Task& task, const TaskSpec& spec) {
  if (!spec.dedupe && !spec.dedupe_key) return;
  task.dedupe = spec.dedupe.value_or(DedupeMode::kSingleFlight);
  task.dedupe_key = spec.dedupe_key ? *spec.dedupe_key : default_dedupe_key(task.type, task.payload);
}

// The spec's own word, else its type's, else the default that stands in Task.
template <class T>
void choose(T& field, const std::optional<T>& from_spec, const std::optional<T>& from_type) {
  if (from_spec) {
    field = *from_spec;
  } else if (from_type) {
    field = *from_type;
  }
}

}  // namespace

Status check_type(const std::string& type, const Policy& policy) {
  if (!policy.types_closed || policy.types.contains(type)) return {};
  return fail(ErrorCode::kUnknownType,
              fmt::format("type: there is no type {} in the policy, which takes no others", quoted_excerpt(type)));
}

Result<TaskRecord> record_from_spec(const TaskSpec& spec, const Policy& policy, const TaskId& id, Time now) {
  Result<TaskRecord> record;
  if (auto filled = fill_record(*record, spec, policy, id, now); !filled) record = std::unexpected(filled.error());
  return record;
}

Status fill_record(TaskRecord& record, const TaskSpec& spec, const Policy& policy, const TaskId& id, Time now) {
  if (auto valid = check_spec(spec); !valid) return std::unexpected(valid.error());
  if (auto valid = check_sizes(spec, policy.limits); !valid) return std::unexpected(valid.error());
  auto payload = checked_json("payload", spec.payload, policy.limits.payload_bytes);
  if (!payload) return std::unexpected(payload.error());
  auto fallback = checked_json("fallback_result", spec.fallback_result, policy.limits.result_bytes);
  if (!fallback) return std::unexpected(fallback.error());

  const TypePolicy& type = policy.type(spec.type);
  Task& task = record.task;
  task.id = spec.id.value_or(id);
  task.type = spec.type;
  task.queue = spec.queue.value_or(policy.queue_of(spec.type));
  task.owner = spec.owner.value_or(std::string(kDefaultOwner));
  choose(task.priority, spec.priority, type.priority);
  task.payload = std::move(*payload);
  task.prompt = spec.prompt;
  task.system_prompt = spec.system_prompt;
  task.model = spec.model;
  task.agent_id = spec.agent_id;
  task.source = spec.source;
  task.traceparent = spec.traceparent;
  task.fallback_result = std::move(*fallback);
  task.tags = spec.tags;
  task.parent_id = spec.parent_id;
  task.request_id = spec.request_id;
  task.created_at = now;
  if (spec.run_at) task.run_at = spec.run_at;
  if (spec.delay) task.run_at = now + *spec.delay;
  task.deadline_at = deadline_of(spec, type, now);
  if (task.deadline_at) record.deadline_span = *task.deadline_at - now;
  choose(task.max_attempts, spec.max_attempts, type.max_attempts);
  choose(task.max_stalls, spec.max_stalls, type.max_stalls);
  choose(task.max_defers, spec.max_defers, type.max_defers);
  choose(task.retry, spec.retry, type.retry);
  choose(task.timeout, spec.timeout, type.timeout);
  choose(task.idle_timeout, spec.idle_timeout, type.idle_timeout);
  choose(task.on_parent_failure, spec.on_parent_failure, type.on_parent_failure);
  choose(task.at_most_once, spec.at_most_once, type.at_most_once);
  task.gates = gates_from(spec, type);
  task.cost = spec.cost.value_or(1);
  if (auto valid = check_cost(task, policy); !valid) return std::unexpected(valid.error());
  choose_dedupe(task, spec);
  if (spec.request_id) record.request_hash = request_fingerprint(spec);
  return {};
}

Result<std::optional<JsonText>> contract_payload(const Policy& policy, std::string_view type,
                                                 std::optional<JsonText> payload) {
  const Contract& contract = policy.type(type).contract;
  auto whole = with_defaults(contract, std::move(payload));
  if (whole && whole->size() > static_cast<std::size_t>(policy.limits.payload_bytes)) {
    return too_large("payload", whole->size(), policy.limits.payload_bytes);
  }
  if (auto valid = check_payload(contract, whole); !valid) return std::unexpected(valid.error());
  return whole;
}

Status meet_contract(TaskRecord& record, const Policy& policy) {
  Task& task = record.task;
  if (auto known = check_type(task.type, policy); !known) return known;
  if (auto valid = check_fallback(policy.type(task.type).contract, task.fallback_result); !valid) return valid;
  auto payload = contract_payload(policy, task.type, std::move(task.payload));
  if (!payload) return std::unexpected(payload.error());
  task.payload = std::move(*payload);
  return {};
}

Result<std::optional<JsonText>> checked_payload(const JsonText& payload, const Task& task, const Policy& policy) {
  auto checked = checked_json("payload", payload, policy.limits.payload_bytes);
  if (!checked) return checked;
  return contract_payload(policy, task.type, std::move(*checked));
}

Result<std::optional<JsonText>> edited_payload(const std::optional<JsonText>& payload,
                                               const std::optional<JsonText>& patch, const Task& task,
                                               const Policy& policy) {
  if (payload) return checked_payload(*payload, task, policy);
  if (!patch) return std::nullopt;
  const auto compact = json::compact(*patch);
  if (!compact) return at_field("patch", compact.error());
  return checked_payload(merge_patch(task.payload, *compact), task, policy);
}

Status check_stored(const Task& task, const Policy& policy) {
  if (auto known = check_type(task.type, policy); !known) return known;
  return check_payload(policy.type(task.type).contract, task.payload);
}

std::string request_fingerprint(const TaskSpec& spec) {
  json::Writer out;
  const auto text = [&](const std::optional<std::string>& value) { value ? out.string(*value) : out.null(); };
  const auto json_text = [&](const std::optional<JsonText>& value) {
    if (!value) return static_cast<void>(out.null());
    const auto compact = json::compact(*value);
    out.string(compact ? *compact : *value);
  };
  const auto number = [&](const auto& value) { value ? out.number(*value) : out.null(); };
  const auto span = [&](const std::optional<Millis>& value) { value ? out.number(value->count()) : out.null(); };
  const auto time = [&](const std::optional<Time>& value) {
    value ? out.number(value->time_since_epoch().count()) : out.null();
  };

  out.begin_array();
  out.string(spec.type);
  for (const auto* value :
       {&spec.queue, &spec.owner, &spec.prompt, &spec.system_prompt, &spec.model, &spec.agent_id, &spec.source})
    text(*value);
  out.null();  // the traceparent stood here; whoever asks again may do so within another trace
  json_text(spec.payload);
  json_text(spec.fallback_result);
  for (const auto* value : {&spec.priority, &spec.max_attempts, &spec.max_stalls, &spec.max_defers}) number(*value);
  for (const auto* value : {&spec.delay, &spec.deadline, &spec.timeout, &spec.idle_timeout, &spec.dedupe_window})
    span(*value);
  number(spec.cost);
  text(spec.dedupe_key);
  text(spec.dedupe ? std::optional(std::string(name_of(*spec.dedupe))) : std::nullopt);
  out.begin_array();
  for (const std::string& lock : spec.locks) out.string(lock);
  out.end_array();
  time(spec.run_at);
  time(spec.deadline_at);
  text(spec.retry ? std::optional(to_string(*spec.retry)) : std::nullopt);
  text(spec.on_parent_failure ? std::optional(std::string(name_of(*spec.on_parent_failure))) : std::nullopt);
  spec.at_most_once ? out.boolean(*spec.at_most_once) : out.null();
  text(spec.id ? std::optional(spec.id->to_string()) : std::nullopt);
  text(spec.parent_id ? std::optional(spec.parent_id->to_string()) : std::nullopt);
  out.begin_array();
  for (const std::string& tag : spec.tags) out.string(tag);
  out.end_array();
  out.begin_array();
  for (const ParentRef& parent : spec.depends_on) {
    const auto* id = std::get_if<TaskId>(&parent);
    out.string(id != nullptr ? id->to_string() : "@" + std::get<std::string>(parent));
  }
  out.end_array();
  if (!spec.request_digest.empty()) out.string(spec.request_digest);
  out.end_array();
  return sha256_hex(std::move(out).take());
}

}  // namespace drover
