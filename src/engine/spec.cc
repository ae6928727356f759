#include "engine/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/try.h"
#include "core/dedupe.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/session_record.h"
#include "core/spec_check.h"
#include "core/task_fields.h"
#include "core/task_json.h"

namespace drover {

namespace {

std::unexpected<Error> too_large(std::string_view field, std::size_t bytes, std::int64_t bytes_max) {
  return fail(ErrorCode::kPayloadTooLarge,
              fmt::format("{}: has {} bytes; at most {} are allowed", field, bytes, bytes_max));
}

// What a limit of the policy says of sizes; the rest of a spec is core's to check.
Status check_sizes(const TaskSpec& spec, const Limits& limits) {
  Status status;
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kText) {
      const std::optional<std::string>& text = field.asked(spec);
      if (!status || !text || text->size() <= static_cast<std::size_t>(limits.payload_bytes)) return;
      status = too_large(field.name(), text->size(), limits.payload_bytes);
    }
  });
  return status;
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
std::vector<std::string> gates_from(const TaskSpec& spec, const std::string& owner, const TypePolicy& type) {
  std::vector<std::string> gates;
  for (const std::string& lock : spec.locks) gates.push_back(gate_name(GateKind::kLock, lock));
  std::ranges::sort(gates);
  if (spec.session) gates.insert(gates.begin(), session_gate({.owner = owner, .name = *spec.session}));
  if (type.provider) gates.insert(gates.begin(), gate_name(GateKind::kProvider, *type.provider));
  return gates;
}

// Only for tags that the policy names, so that lanes do not multiply.
void add_tag_gates(Task& task, const Policy& policy) {
  if (!policy.has_budgets) return;
  for (const std::string& tag : task.tags) {
    std::string gate = gate_name(GateKind::kTag, tag);
    if (policy.names_gate(gate)) task.gates.push_back(std::move(gate));
  }
}

// The task's own, unit by unit before that of its type.
Result<std::optional<JsonText>> budget_from(const TaskSpec& spec, const TypePolicy& type) {
  BudgetShares shares = type.budget;
  if (spec.budget) {
    const auto own = TRY(parse_task_budget(*spec.budget));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i]) shares[i] = own[i];
    }
  }
  if (shares == BudgetShares{}) return std::nullopt;
  return task_budget_json(shares);
}

Result<std::optional<JsonText>> tree_budget_from(const TaskSpec& spec) {
  if (!spec.tree_budget) return std::nullopt;
  if (spec.parent_id) {
    return fail(ErrorCode::kInvalidArgument, "tree_budget: only a task that no other task spawns can have one");
  }
  const auto shares = parse_task_budget(*spec.tree_budget);
  if (!shares) return fail(shares.error().code, "tree_" + shares.error().message);
  if (*shares == BudgetShares{}) return std::nullopt;
  return task_budget_json(*shares);
}

// A cost that no burst ever allows would wait for ever.
Status check_cost(const Task& task, const Policy& policy) {
  if (task.cost == kCostBounds.min) return {};  // which every burst allows
  for (const std::string& gate : gates_of(task)) {
    const auto rate = policy.gate(gate).rate;
    if (!rate || task.cost <= rate->burst) continue;
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("cost: {} is more than the rate limit of {} ever allows at once ({})", task.cost, gate,
                            rate->burst));
  }
  return {};
}

// A key alone asks for one at a time; a mode alone speaks of the same type and payload.
void choose_dedupe(Task& task, const TaskSpec& spec) {
  if (!spec.dedupe && !spec.dedupe_key) return;
  task.dedupe = spec.dedupe.value_or(DedupeMode::kSingleFlight);
  task.dedupe_key = spec.dedupe_key ? *spec.dedupe_key : default_dedupe_key(task.type, task.payload);
}

// What a type says, unless it leaves that to the default in Task.
void take_defaults(Task& task, const TypePolicy& type) {
  const auto take = [](auto& field, const auto& value) {
    if (value) field = *value;
  };
  take(task.priority, type.priority);
  take(task.max_attempts, type.max_attempts);
  take(task.max_stalls, type.max_stalls);
  take(task.max_defers, type.max_defers);
  take(task.max_suspends, type.max_suspends);
  take(task.retry, type.retry);
  take(task.timeout, type.timeout);
  take(task.idle_timeout, type.idle_timeout);
  take(task.on_parent_failure, type.on_parent_failure);
  take(task.at_most_once, type.at_most_once);
  if (!type.models.empty()) task.model = type.models.front();
}

template <class T, class Asked>
void take_asked(T& field, const Asked& asked) {
  field = asked;
}
template <class T, class Asked>
void take_asked(T& field, const std::optional<Asked>& asked) {
  if (asked) field = *asked;
}

// What the spec says as it stands. Its parents are the caller's to look up, and its JSON is checked.
void take_asked(Task& task, const TaskSpec& spec) {
  visit_task_fields([&](auto field) {
    constexpr bool kIsCopied = field.kIs.kind != FieldKind::kJson && !field.template is<&Task::depends_on>();
    if constexpr (field.kIsAsked && kIsCopied) take_asked(field.of(task), field.asked(spec));
  });
}

}  // namespace

Status check_type(const std::string& type, const Policy& policy) {
  if (!policy.types_closed || policy.types.contains(type)) return {};
  return fail(ErrorCode::kUnknownType,
              fmt::format("type: the policy does not name the type {}, and it allows only the types that it names",
                          quoted_excerpt(type)));
}

Result<TaskRecord> record_from_spec(const TaskSpec& spec, const Policy& policy, const TaskId& id, Time now) {
  Result<TaskRecord> record;
  if (auto filled = fill_record(*record, spec, policy, id, now); !filled) record = std::unexpected(filled.error());
  return record;
}

Status fill_record(TaskRecord& record, const TaskSpec& spec, const Policy& policy, const TaskId& id, Time now) {
  TRY(check_spec(spec));
  TRY(check_sizes(spec, policy.limits));
  auto payload = TRY(checked_json("payload", spec.payload, policy.limits.payload_bytes));
  auto fallback = TRY(checked_json("fallback_result", spec.fallback_result, policy.limits.result_bytes));
  auto bootstrap = TRY(checked_json("bootstrap", spec.bootstrap, policy.limits.payload_bytes));

  const TypePolicy& type = policy.type(spec.type);
  Task& task = record.task;
  task.id = id;
  task.queue = policy.queue_of(spec.type);
  task.owner = kDefaultOwner;
  task.created_at = now;
  take_defaults(task, type);
  take_asked(task, spec);
  task.payload = std::move(payload);
  task.fallback_result = std::move(fallback);
  task.bootstrap = std::move(bootstrap);
  task.budget = TRY(budget_from(spec, type));
  task.tree_budget = TRY(tree_budget_from(spec));
  if (spec.delay) task.run_at = now + *spec.delay;
  task.deadline_at = deadline_of(spec, type, now);
  if (task.deadline_at) record.deadline = *task.deadline_at - now;
  task.gates = gates_from(spec, task.owner, type);
  add_tag_gates(task, policy);
  if (task.tree_budget) task.gates.push_back(gate_name(GateKind::kTree, task.id.to_string()));
  TRY(check_cost(task, policy));
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
  TRY(check_payload(contract, whole));
  return whole;
}

Status meet_contract(TaskRecord& record, const Policy& policy) {
  Task& task = record.task;
  TRY(check_type(task.type, policy));
  TRY(check_fallback(policy.type(task.type).contract, task.fallback_result));
  task.payload = TRY(contract_payload(policy, task.type, std::move(task.payload)));
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
  TRY(check_type(task.type, policy));
  return check_payload(policy.type(task.type).contract, task.payload);
}

std::string request_fingerprint(const TaskSpec& spec) {
  TaskSpec request = spec;
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsAsked && !field.kIs.same) field.asked(request).reset();
    if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kJson) {
      std::optional<JsonText>& json = field.asked(request);
      if (!json) return;
      if (auto compact = json::compact(*json)) json = *std::move(compact);
    }
  });
  return sha256_hex(to_json(request) + request.request_digest);
}

}  // namespace drover
