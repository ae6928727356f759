#include "cli/gate_use.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "base/try.h"
#include "cli/project.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

using Names = std::set<std::string, std::less<>>;

Result<Names> queues_in_use(TaskQueue& queue, const Policy& policy, const std::vector<WorkerInfo>& workers) {
  const auto queues = TRY(queue.queues());
  Names names;
  for (const QueueStatus& one : queues) {
    if (one.waiting + one.running + one.scheduled + one.blocked > 0) names.insert(one.name);
  }
  for (const auto& [name, unused] : policy.queues) names.insert(name);
  for (const auto& [type, unused] : policy.types) names.insert(policy.queue_of(type));
  for (const WorkerInfo& worker : workers) {
    for (const Serve& serve : worker.serves) names.insert(serve.queue);
  }
  return names;
}

// Of that kind, among the gates that the policy limits.
Names gates_of_policy(const Policy& policy, GateKind kind) {
  Names names;
  for (const auto& [gate, unused] : policy.gates) {
    if (const auto subject = subject_of(gate, kind)) names.emplace(*subject);
  }
  return names;
}

Names types_in_use(const Policy& policy, const std::vector<WorkerInfo>& workers) {
  Names names = gates_of_policy(policy, GateKind::kType);
  for (const auto& [type, unused] : policy.types) names.insert(type);
  for (const WorkerInfo& worker : workers) {
    for (const Serve& serve : worker.serves) {
      if (serve.type) names.insert(*serve.type);
    }
  }
  return names;
}

Names owners_in_use(const Policy& policy) {
  Names names;
  for (const auto& [owner, unused] : policy.owners) names.insert(owner);
  return names;
}

Names providers_in_use(const Policy& policy) {
  Names names = gates_of_policy(policy, GateKind::kProvider);
  for (const auto& [type, own] : policy.types) {
    if (own.provider) names.insert(*own.provider);
  }
  return names;
}

// What uses a gate: the names that policy and workers know, and which tasks pass it. None for kinds that tasks make up
// as they need them.
struct GateUsers {
  Names known;
  std::optional<TaskFilter> tasks;
};

Result<std::optional<GateUsers>> users_of(TaskQueue& queue, const GateName& gate) {
  if (gate.kind == GateKind::kAll || gate.kind == GateKind::kLock || gate.kind == GateKind::kSession) {
    return std::nullopt;
  }
  const auto policy = TRY(policy_of(queue));
  const auto workers = TRY(queue.workers());
  const std::string subject(gate.subject);
  switch (gate.kind) {
    case GateKind::kQueue: {
      auto known = TRY(queues_in_use(queue, policy, workers));
      return GateUsers{std::move(known), TaskFilter{.queue = subject}};
    }
    case GateKind::kType:
      return GateUsers{types_in_use(policy, workers), TaskFilter{.type = subject}};
    case GateKind::kOwner:
      return GateUsers{owners_in_use(policy), TaskFilter{.owner = subject}};
    case GateKind::kProvider:
      return GateUsers{providers_in_use(policy), std::nullopt};
    case GateKind::kTag:
      return GateUsers{gates_of_policy(policy, GateKind::kTag), std::nullopt};
    case GateKind::kAll:
    case GateKind::kLock:
    case GateKind::kSession:
    case GateKind::kTree:
      break;
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> unused_gate_warning(TaskQueue& queue, const std::string& gate) {
  const auto name = parse_gate_name(gate);
  if (!name) return std::nullopt;
  const auto users = TRY(users_of(queue, *name));
  if (!users || users->known.contains(name->subject)) return std::nullopt;
  if (const auto& tasks = users->tasks) {
    const auto page = TRY(queue.list(*tasks, 1, std::nullopt));
    if (!page.tasks.empty()) return std::nullopt;
  }
  const std::string_view near = closest_word(name->subject, users->known);
  return fmt::format("no task, worker or policy names {} {}{}", info_of(name->kind).word, name->subject,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

}  // namespace drover::cli
