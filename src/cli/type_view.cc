#include "cli/type_view.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "engine/spec.h"

namespace drover::cli {
namespace {

constexpr std::size_t kFieldNameWidth = 19;

void write_breaker(json::Writer& writer, const BreakerPolicy& breaker) {
  writer.key("breaker");
  if (breaker.failures == 0) {
    writer.string("off");
    return;
  }
  writer.begin_object().key("failures").number(breaker.failures);
  writer.key("window").string(format_duration(breaker.window));
  writer.key("open").string(format_duration(breaker.open)).end_object();
}

void write_rule(json::Writer& writer, const ClassRule& rule, const ClassRule& usual) {
  writer.begin_object();
  if (rule.action != usual.action) writer.key("action").string(name_of(rule.action));
  if (rule.timeout_factor != usual.timeout_factor)
    writer.key("timeout_factor").raw(fmt::format("{}", rule.timeout_factor));
  if (rule.session != usual.session) writer.key("session").string(name_of(rule.session));
  if (rule.next_model != usual.next_model) writer.key("model").string(rule.next_model ? "next" : "same");
  if (rule.alert != usual.alert) writer.key("alert").boolean(rule.alert);
  if (rule.close_gate != usual.close_gate) writer.key("close_gate").boolean(rule.close_gate);
  writer.end_object();
}

// Only where they differ from the table in the guide.
void write_errors(json::Writer& writer, const ClassTable& classes) {
  const ClassTable& usual = default_class_table();
  if (classes == usual) return;
  writer.key("errors").begin_object();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == usual[i]) continue;
    writer.key(name_of(static_cast<ErrorClass>(i)));
    write_rule(writer, classes[i], usual[i]);
  }
  writer.end_object();
}

void write_follow_up(json::Writer& writer, std::string_view key, const std::optional<FollowUp>& follow_up) {
  if (!follow_up) return;
  writer.key(key).begin_object().key("type").string(follow_up->type);
  if (follow_up->queue) writer.key("queue").string(*follow_up->queue);
  if (follow_up->priority) writer.key("priority").number(*follow_up->priority);
  if (follow_up->payload) writer.key("payload").raw(*follow_up->payload);
  writer.end_object();
}

void write_contract(json::Writer& writer, const Contract& contract) {
  if (contract.payload_schema) writer.key("payload_schema").raw(contract.payload_schema->text());
  if (contract.payload_defaults) writer.key("payload_defaults").raw(*contract.payload_defaults);
  if (contract.result_schema) writer.key("result_schema").raw(contract.result_schema->text());
  writer.key("decision_report").string(name_of(contract.decision_report));
  write_follow_up(writer, "on_success", contract.on_success);
  write_follow_up(writer, "on_failure", contract.on_failure);
}

std::string breaker_text(const BreakerPolicy& breaker) {
  return breaker.failures == 0 ? "off" : fmt::format("{} in {}", breaker.failures, format_duration(breaker.window));
}

std::string contract_text(const Contract& contract) {
  std::string text;
  const auto add = [&](std::string_view part) { text.append(text.empty() ? "" : " ").append(part); };
  if (contract.payload_schema) add("payload");
  if (contract.payload_defaults) add("defaults");
  if (contract.result_schema) add("result");
  if (contract.decision_report != DecisionReport::kIgnored) add("report");
  if (contract.on_success || contract.on_failure) add("follow-up");
  return text;
}

}  // namespace

Result<TypeView> view_type(const std::string& name, const Policy& policy) {
  TRY(check_type(name, policy));
  auto record = TRY(record_from_spec({.type = name}, policy, TaskId(), Time{}));
  return TypeView{name, std::move(record.task), policy.type(name)};
}

std::string to_json(const TypeView& type) {
  const Task& task = type.task;
  json::Writer writer;
  writer.begin_object().key("type").string(type.name).key("queue").string(task.queue);
  writer.key("priority").number(task.priority).key("max_attempts").number(task.max_attempts);
  writer.key("max_stalls").number(task.max_stalls).key("max_defers").number(task.max_defers);
  writer.key("max_suspends").number(task.max_suspends);
  writer.key("retry").string(to_string(task.retry)).key("timeout").string(format_duration(task.timeout));
  writer.key("idle_timeout").string(format_duration(task.idle_timeout));
  if (type.policy.deadline) writer.key("deadline").string(format_duration(*type.policy.deadline));
  writer.key("on_parent_failure").string(name_of(task.on_parent_failure));
  writer.key("at_most_once").boolean(task.at_most_once);
  if (type.policy.verify != VerifyRule::kOptional) writer.key("verify").string(name_of(type.policy.verify));
  if (!type.policy.models.empty()) {
    writer.key("models").begin_array();
    for (const std::string& model : type.policy.models) writer.string(model);
    writer.end_array();
  }
  if (type.policy.provider) writer.key("provider").string(*type.policy.provider);
  write_breaker(writer, type.policy.breaker);
  write_errors(writer, type.policy.classes);
  write_contract(writer, type.policy.contract);
  writer.end_object();
  return std::move(writer).take();
}

Table type_table(const std::vector<TypeView>& types) {
  Table table(
      {{"TYPE"}, {"QUEUE"}, {"PRIORITY"}, {"TRIES"}, {"RETRY"}, {"TIMEOUT"}, {"BREAKER"}, {"CONTRACT", Fit::kRest}});
  for (const TypeView& type : types) {
    const Task& task = type.task;
    table.add({type.name, task.queue, std::to_string(task.priority), std::to_string(task.max_attempts),
               to_string(task.retry), format_duration(task.timeout), breaker_text(type.policy.breaker),
               contract_text(type.policy.contract)});
  }
  return table;
}

std::string type_page(const TypeView& type, const Look& look) {
  std::string page;
  const auto document = json::parse(to_json(type));
  CHECK(document.has_value());
  for (const auto& [name, value] : *document->as_object()) {
    std::string shown = value.as_string() != nullptr ? one_line(*value.as_string()) : json::dump_pretty(value);
    for (std::size_t end = shown.find('\n'); end != std::string::npos; end = shown.find('\n', end + 1)) {
      shown.insert(end + 1, kFieldNameWidth, ' ');
    }
    page += painted(fit_left(name, kFieldNameWidth), Paint::kDim, look) + shown + "\n";
  }
  return page;
}

}  // namespace drover::cli
