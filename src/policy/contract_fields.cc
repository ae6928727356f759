#include "policy/contract_fields.h"

#include <fmt/format.h>

#include <array>

#include "base/try.h"
#include "policy/config_values.h"

namespace drover {
namespace {

// Beside what follow_up_payload() puts in.
Result<JsonText> follow_up_json(const ConfigNode& node) {
  auto payload = json_object_of(node);
  if (!payload) return payload;
  const std::array<std::string, 1> task{"task"};
  if (json::parse(*payload)->find(task.front()) != nullptr) {
    return node.at(task).error("this name is reserved for the ended task");
  }
  return payload;
}

constexpr auto kFollowUpFields = std::to_array<ConfigField<FollowUp>>({
    {"type", [](FollowUp& f, const ConfigNode& n) { return put(n.name(), f.type); }},
    {"queue", [](FollowUp& f, const ConfigNode& n) { return put(n.name(), f.queue); }},
    {"priority", [](FollowUp& f, const ConfigNode& n) { return put(priority_of(n), f.priority); }},
    {"payload", [](FollowUp& f, const ConfigNode& n) { return put(follow_up_json(n), f.payload); }},
});

}  // namespace

Result<json::Schema> schema_of(const ConfigNode& node) {
  const auto value = TRY(node.any_value());
  auto schema = json::Schema::compile(value);
  if (!schema) return node.at(schema.error().path).error(schema.error().what);
  return std::move(*schema);
}

Result<JsonText> json_object_of(const ConfigNode& node) {
  const auto value = TRY(node.any_value());
  if (value.as_object() == nullptr) return node.error(fmt::format("expected a mapping, not {}", value.kind_phrase()));
  return json::dump(value);
}

Result<FollowUp> follow_up_from(const ConfigNode& node) {
  FollowUp follow_up;
  TRY(read_fields(node, kFollowUpFields, follow_up));
  if (follow_up.type.empty()) return node.error("type is missing");
  return follow_up;
}

Status check_follow_ups(const ConfigNode& root, const Policy& policy) {
  if (!policy.types_closed) return {};
  for (const auto& [name, type] : policy.types) {
    for (const auto& [field, follow_up] :
         {std::pair{"on_success", &type.contract.on_success}, {"on_failure", &type.contract.on_failure}}) {
      if (!*follow_up || policy.types.contains((*follow_up)->type)) continue;
      const std::array<std::string, 4> path{"types", name, field, "type"};
      return root.at(path).error(fmt::format("there is no type {}, and types_closed is set", (*follow_up)->type));
    }
  }
  return {};
}

}  // namespace drover
