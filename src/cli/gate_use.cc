#include "cli/gate_use.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "cli/project.h"

namespace drover::cli {
namespace {

using Names = std::set<std::string, std::less<>>;

Result<Names> queues_in_use(TaskQueue& queue, const Policy& policy, const std::vector<WorkerInfo>& workers) {
  const auto queues = queue.queues();
  if (!queues) return std::unexpected(queues.error());
  Names names;
  for (const QueueStatus& one : *queues) {
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
Names gates_of_policy(const Policy& policy, std::string_view kind) {
  Names names;
  for (const auto& [gate, unused] : policy.gates) {
    if (gate.starts_with(fmt::format("{}:", kind))) names.insert(gate.substr(kind.size() + 1));
  }
  return names;
}

Names types_in_use(const Policy& policy, const std::vector<WorkerInfo>& workers) {
  Names names = gates_of_policy(policy, "type");
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
  Names names = gates_of_policy(policy, "provider");
  for (const auto& [type, own] : policy.types) {
    if (own.provider) names.insert(*own.provider);
  }
  return names;
}

// The names of that kind that policy and workers know; for queues also those that hold tasks.
Result<Names> names_in_use(TaskQueue& queue, std::string_view kind) {
  const auto policy = policy_of(queue);
  if (!policy) return std::unexpected(policy.error());
  if (kind == "owner") return owners_in_use(*policy);
  if (kind == "provider") return providers_in_use(*policy);
  const auto workers = queue.workers();
  if (!workers) return std::unexpected(workers.error());
  return kind == "queue" ? queues_in_use(queue, *policy, *workers) : types_in_use(*policy, *workers);
}

Result<bool> is_named_by_a_task(TaskQueue& queue, std::string_view kind, const std::string& name) {
  TaskFilter filter;
  if (kind == "provider") return false;  // of a task's type
  if (kind == "queue") filter.queue = name;
  if (kind == "type") filter.type = name;
  if (kind == "owner") filter.owner = name;
  const auto page = queue.list(filter, 1, std::nullopt);
  if (!page) return std::unexpected(page.error());
  return !page->tasks.empty();
}

}  // namespace

Result<std::optional<std::string>> unused_gate_warning(TaskQueue& queue, const std::string& gate) {
  const std::size_t colon = gate.find(':');
  const std::string_view kind = std::string_view(gate).substr(0, colon);
  constexpr std::string_view kKinds[] = {"queue", "type", "owner", "provider"};
  if (std::ranges::find(kKinds, kind) == std::end(kKinds)) return std::nullopt;
  const std::string name = gate.substr(colon + 1);
  const auto known = names_in_use(queue, kind);
  if (!known) return std::unexpected(known.error());
  if (known->contains(name)) return std::nullopt;
  const auto has_task = is_named_by_a_task(queue, kind, name);
  if (!has_task) return std::unexpected(has_task.error());
  if (*has_task) return std::nullopt;
  const std::string_view near = closest_word(name, *known);
  return fmt::format("no task, worker or policy names {} {}{}", kind, name,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

}  // namespace drover::cli
