#include "engine/spec.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace drover {

namespace {

constexpr std::size_t kTagsMax = 100;
constexpr std::size_t kShortTextBytesMax = 1'024;  // model, agent_id, source, traceparent
constexpr int kCountMax = 1'000'000;
constexpr Millis kDelayMax{366LL * 24 * 3'600'000};

std::unexpected<Error> invalid(std::string_view field, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", field, why));
}

Status check_name(std::string_view field, const std::optional<std::string>& value) {
  if (!value || is_name(*value)) return {};
  return invalid(field, fmt::format("{} is no valid name: 1 to 128 characters of A-Z a-z 0-9 _ . : @ -", json::quote(*value)));
}

Status check_count(std::string_view field, std::optional<int> value, int least) {
  if (!value || (*value >= least && *value <= kCountMax)) return {};
  return invalid(field, fmt::format("must be between {} and {}, not {}", least, kCountMax, *value));
}

Status check_span(std::string_view field, std::optional<Millis> value, Millis least) {
  if (!value || (*value >= least && *value <= kDelayMax)) return {};
  return invalid(field, fmt::format("must be between {} and {}", format_duration(least), format_duration(kDelayMax)));
}

Status check_text(std::string_view field, const std::optional<std::string>& value, std::size_t bytes_max) {
  if (!value) return {};
  if (!is_utf8(*value)) return invalid(field, "is not UTF-8");
  if (value->size() > bytes_max) {
    return fail(ErrorCode::kPayloadTooLarge, fmt::format("{}: has {} bytes; at most {} are taken", field, value->size(), bytes_max));
  }
  return {};
}

Status check_names(const TaskSpec& spec) {
  if (!is_name(spec.type)) return check_name("type", spec.type);
  for (const auto& [field, value] : {std::pair{"queue", &spec.queue}, {"owner", &spec.owner}, {"ref", &spec.ref}, {"request_id", &spec.request_id}}) {
    if (auto valid = check_name(field, *value); !valid) return valid;
  }
  if (spec.tags.size() > kTagsMax) return invalid("tags", fmt::format("has {} tags; at most {} are taken", spec.tags.size(), kTagsMax));
  for (const std::string& tag : spec.tags) {
    if (auto valid = check_name("tags", tag); !valid) return valid;
  }
  return {};
}

Status check_numbers(const TaskSpec& spec) {
  if (spec.priority && (*spec.priority < 0 || *spec.priority > kPriorityMax)) {
    return invalid("priority", fmt::format("must be between 0 and {}, not {}", kPriorityMax, *spec.priority));
  }
  if (auto valid = check_count("max_attempts", spec.max_attempts, 1); !valid) return valid;
  if (auto valid = check_count("max_stalls", spec.max_stalls, 0); !valid) return valid;
  if (auto valid = check_count("max_defers", spec.max_defers, 0); !valid) return valid;
  if (auto valid = check_span("delay", spec.delay, Millis{0}); !valid) return valid;
  if (auto valid = check_span("deadline", spec.deadline, Millis{1}); !valid) return valid;
  if (auto valid = check_span("timeout", spec.timeout, Millis{1}); !valid) return valid;
  if (auto valid = check_span("idle_timeout", spec.idle_timeout, Millis{1}); !valid) return valid;
  if (spec.delay && spec.run_at) return invalid("delay", "cannot stand beside run_at");
  if (spec.deadline && spec.deadline_at) return invalid("deadline", "cannot stand beside deadline_at");
  return {};
}

Status check_texts(const TaskSpec& spec, const Limits& limits) {
  const auto bytes_max = static_cast<std::size_t>(limits.payload_bytes);
  for (const auto& [field, value] : {std::pair{"prompt", &spec.prompt}, {"system_prompt", &spec.system_prompt}}) {
    if (auto valid = check_text(field, *value, bytes_max); !valid) return valid;
  }
  for (const auto& [field, value] : {std::pair{"model", &spec.model}, {"agent_id", &spec.agent_id}, {"source", &spec.source}, {"traceparent", &spec.traceparent}}) {
    if (auto valid = check_text(field, *value, kShortTextBytesMax); !valid) return valid;
  }
  return {};
}

Result<std::optional<JsonText>> checked_json(std::string_view field, const std::optional<JsonText>& value, std::int64_t bytes_max) {
  if (!value) return std::nullopt;
  auto compact = json::compact(*value);
  if (!compact) return fail(compact.error().code, fmt::format("{}: {}", field, compact.error().message));
  if (compact->size() > static_cast<std::size_t>(bytes_max)) {
    return fail(ErrorCode::kPayloadTooLarge, fmt::format("{}: has {} bytes; at most {} are taken", field, compact->size(), bytes_max));
  }
  return std::move(*compact);
}

std::optional<Time> deadline_of(const TaskSpec& spec, const TypePolicy& type, Time now) {
  if (spec.deadline_at) return spec.deadline_at;
  if (spec.deadline) return now + *spec.deadline;
  if (type.deadline) return now + *type.deadline;
  return std::nullopt;
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

Result<TaskRecord> record_from_spec(const TaskSpec& spec, const Policy& policy, const TaskId& id, Time now) {
  if (auto valid = check_names(spec); !valid) return std::unexpected(valid.error());
  if (auto valid = check_numbers(spec); !valid) return std::unexpected(valid.error());
  if (auto valid = check_texts(spec, policy.limits); !valid) return std::unexpected(valid.error());
  auto payload = checked_json("payload", spec.payload, policy.limits.payload_bytes);
  if (!payload) return std::unexpected(payload.error());
  auto fallback = checked_json("fallback_result", spec.fallback_result, policy.limits.result_bytes);
  if (!fallback) return std::unexpected(fallback.error());

  const TypePolicy& type = policy.type(spec.type);
  TaskRecord record;
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
  choose(task.max_attempts, spec.max_attempts, type.max_attempts);
  choose(task.max_stalls, spec.max_stalls, type.max_stalls);
  choose(task.max_defers, spec.max_defers, type.max_defers);
  choose(task.retry, spec.retry, type.retry);
  choose(task.timeout, spec.timeout, type.timeout);
  choose(task.idle_timeout, spec.idle_timeout, type.idle_timeout);
  choose(task.on_parent_failure, spec.on_parent_failure, type.on_parent_failure);
  choose(task.at_most_once, spec.at_most_once, type.at_most_once);
  if (spec.request_id) record.request_hash = request_fingerprint(spec);
  return record;
}

std::string request_fingerprint(const TaskSpec& spec) {
  json::Writer out;
  const auto text = [&](const std::optional<std::string>& value) { value ? out.string(*value) : out.null(); };
  const auto json_text = [&](const std::optional<JsonText>& value) {
    const auto compact = value ? json::compact(*value) : Result<std::string>("null");
    out.string(compact ? *compact : *value);
  };
  const auto number = [&](const auto& value) { value ? out.number(*value) : out.null(); };
  const auto span = [&](const std::optional<Millis>& value) { value ? out.number(value->count()) : out.null(); };
  const auto time = [&](const std::optional<Time>& value) { value ? out.number(value->time_since_epoch().count()) : out.null(); };

  out.begin_array();
  out.string(spec.type);
  for (const auto* value : {&spec.queue, &spec.owner, &spec.prompt, &spec.system_prompt, &spec.model, &spec.agent_id, &spec.source, &spec.traceparent}) text(*value);
  json_text(spec.payload);
  json_text(spec.fallback_result);
  for (const auto* value : {&spec.priority, &spec.max_attempts, &spec.max_stalls, &spec.max_defers}) number(*value);
  for (const auto* value : {&spec.delay, &spec.deadline, &spec.timeout, &spec.idle_timeout}) span(*value);
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
  out.end_array();
  return sha256_hex(std::move(out).take());
}

}  // namespace drover
