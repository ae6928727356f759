#include "core/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json.h"
#include "base/try.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr std::string_view kReport = "decision_report";
constexpr std::array<std::string_view, 6> kReportParts{"why",   "what",         "tradeoffs",
                                                       "risks", "test_results", "next_steps"};
constexpr Names<3> kReportNames{"ignored", "optional", "required"};

json::Value parsed(const std::optional<JsonText>& text) {
  if (!text) return {};
  auto value = json::parse(*text);
  CHECK(value.has_value());
  return std::move(*value);
}

Status check_schema(const std::optional<json::Schema>& schema, const json::Value& value, ErrorCode code,
                    std::string_view what) {
  if (!schema) return {};
  const auto error = schema->validate(value);
  if (!error) return {};
  return fail(code, fmt::format("{}: {}", what, to_string(*error)));
}

bool says_something(const json::Value& part) {
  if (const std::string* text = part.as_string()) return !text->empty();
  if (const json::Value::Array* items = part.as_array()) return !items->empty();
  const json::Value::Object* members = part.as_object();
  return members != nullptr && !members->empty();
}

Status check_report(const json::Value& result, DecisionReport rule) {
  if (rule == DecisionReport::kIgnored) return {};
  const json::Value* report = result.find(kReport);
  if (report == nullptr && rule == DecisionReport::kOptional) return {};
  const auto refuse = [](std::string_view path, std::string_view what) {
    return fail(ErrorCode::kInvalidResult, fmt::format("result: /{}{}: {}", kReport, path, what));
  };
  if (report == nullptr) return refuse("", "is missing; this type requires a decision report");
  if (report->as_object() == nullptr) return refuse("", fmt::format("expected object, found {}", report->kind_name()));
  for (const std::string_view name : kReportParts) {
    const json::Value* part = report->find(name);
    if (part == nullptr) return refuse(fmt::format("/{}", name), "is missing");
    if (!says_something(*part))
      return refuse(fmt::format("/{}", name), "expected a text, list or object that is not empty");
  }
  return {};
}

// Members of an object, put before its closing brace. Requires compact JSON.
JsonText with_members(JsonText object, const JsonText& members) {
  if (members.empty()) return object;
  object.pop_back();
  if (object.size() > 1) object += ',';
  return object + members + '}';
}

JsonText ended_task(const Task& ended, bool with_result) {
  json::Writer out;
  out.begin_object().key("id").string(ended.id.to_string()).key("type").string(ended.type);
  out.key("state").string(name_of(ended.state)).key("generation").number(ended.generation);
  if (ended.result && with_result) out.key("result").raw(*ended.result);
  if (ended.result && !with_result) out.key("result_left_out").boolean(true);
  if (ended.error) {
    out.key("error").begin_object().key("class").string(name_of(ended.error->error_class));
    out.key("message").string(ended.error->message).end_object();
  }
  out.end_object();
  return std::move(out).take();
}

}  // namespace

std::string_view name_of(DecisionReport report) {
  return name_in(kReportNames, report);
}

std::optional<DecisionReport> parse_decision_report(std::string_view name) {
  return value_in<DecisionReport>(kReportNames, name);
}

std::optional<JsonText> with_defaults(const Contract& contract, std::optional<JsonText> payload) {
  if (!contract.payload_defaults) return payload;
  if (!payload) return contract.payload_defaults;
  const json::Value given = parsed(payload);
  if (given.as_object() == nullptr) return payload;
  const json::Value defaults = parsed(contract.payload_defaults);
  JsonText missing;
  for (const auto& [name, value] : *defaults.as_object()) {
    if (given.find(name) != nullptr) continue;
    if (!missing.empty()) missing += ',';
    missing += fmt::format("{}:{}", json::quote(name), json::dump(value));
  }
  return with_members(*std::move(payload), missing);
}

Status check_payload(const Contract& contract, const std::optional<JsonText>& payload) {
  if (!contract.payload_schema) return {};
  return check_schema(contract.payload_schema, parsed(payload), ErrorCode::kInvalidPayload, "payload");
}

Status check_fallback(const Contract& contract, const std::optional<JsonText>& fallback) {
  if (!contract.result_schema || !fallback) return {};
  return check_schema(contract.result_schema, parsed(fallback), ErrorCode::kInvalidPayload, "fallback_result");
}

Status check_result(const Contract& contract, const std::optional<JsonText>& result) {
  if (!contract.result_schema && contract.decision_report == DecisionReport::kIgnored) return {};
  const json::Value value = parsed(result);
  TRY(check_report(value, contract.decision_report));
  return check_schema(contract.result_schema, value, ErrorCode::kInvalidResult, "result");
}

const FollowUp* follow_up_of(const Contract& contract, TaskState ended_as) {
  const auto pointer = [](const std::optional<FollowUp>& follow_up) { return follow_up ? &*follow_up : nullptr; };
  if (ended_as == TaskState::kCompleted) return pointer(contract.on_success);
  if (ended_as == TaskState::kFailed) return pointer(contract.on_failure);
  return nullptr;
}

JsonText follow_up_payload(const FollowUp& follow_up, const Task& ended, std::size_t bytes_max) {
  const JsonText own = follow_up.payload.value_or("{}");
  JsonText whole = with_members(own, "\"task\":" + ended_task(ended, true));
  if (whole.size() <= bytes_max) return whole;
  return with_members(own, "\"task\":" + ended_task(ended, false));
}

}  // namespace drover
