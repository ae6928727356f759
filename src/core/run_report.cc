#include "core/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/spec_check.h"

namespace drover {
namespace {

constexpr std::size_t kTextBytesMax = 4'096;
constexpr std::size_t kNamedMax = 5;
constexpr std::size_t kEvidenceBytesMax = 64 * 1024;
constexpr Bounds kVerifyMillisBounds{0, kDurationMax.count()};

Status check_text(std::string_view name, std::string_view text) {
  if (text.size() <= kTextBytesMax && is_utf8(text)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: UTF-8 of at most {} bytes", name, kTextBytesMax));
}

// Empty: the agent has not said it.
Status check_said_word(std::string_view name, std::string_view word) {
  const Status good = word.empty() ? Status() : check_word(word);
  return good ? good : at_field(name, good.error());
}

Status check_agent(const AgentState& agent) {
  if (!is_name(agent.preset)) return fail(ErrorCode::kInvalidArgument, "agent.preset is not a name");
  TRY(check_said_word("agent.session_id", agent.session_id));
  TRY(check_said_word("agent.model", agent.model));
  TRY(check_text("agent.host", agent.host));
  TRY(check_text("agent.workspace", agent.workspace));
  const Status good = check_usage(agent.session_totals);
  return good ? good : at_field("agent.totals", good.error());
}

Status check_evidence(const JsonText& evidence) {
  if (evidence.size() > kEvidenceBytesMax) {
    return fail(ErrorCode::kPayloadTooLarge,
                fmt::format("the evidence has {} bytes; at most {} are kept", evidence.size(), kEvidenceBytesMax));
  }
  json::Reader in(evidence);
  std::optional<int> exit_code;
  std::optional<std::int64_t> duration_ms;
  in.get("exit_code", exit_code).get("duration_ms", duration_ms);
  Status good = in.finish();
  if (good && duration_ms) good = check_bounds(*duration_ms, kVerifyMillisBounds);
  return good ? good : at_field("evidence", good.error());
}

void get_members(json::Reader& in, AgentState& out) {
  in.need("preset", out.preset).get("session_id", out.session_id).get("host", out.host);
  in.get("workspace", out.workspace).get("model", out.model).get("resumed", out.resumed);
}

}  // namespace

std::string agent_json(const AgentState& agent) {
  json::Writer writer;
  writer.begin_object().key("preset").string(agent.preset);
  writer.key("session_id").string_or_null(agent.session_id).key("host").string_or_null(agent.host);
  writer.key("workspace").string_or_null(agent.workspace).key("model").string_or_null(agent.model);
  writer.key("resumed").boolean(agent.resumed);
  writer.key("totals").raw(usage_json(agent.session_totals)).end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, AgentState& out) {
  json::Reader in(json);
  get_members(in, out);
  in.get("totals", out.session_totals);
  return in.finish();
}

Status read_json(std::string_view json, Said<AgentState>& out) {
  json::Reader in(json);
  get_members(in, out.what);
  Said<Usage> totals;
  in.get("totals", totals);
  out.what.session_totals = std::move(totals.what);
  return in.finish_strictly();
}

std::optional<AgentState> agent_of(const Task& task) {
  AgentState agent;
  if (!task.agent || !read_json(*task.agent, agent)) return std::nullopt;
  return agent;
}

Usage usage_of(const std::optional<JsonText>& json) {
  Usage usage;
  if (!json || !read_json(*json, usage)) return {};
  return usage;
}

LedgerKey ledger_key(const Task& task, std::string day) {
  const auto agent = agent_of(task);
  return {.day = std::move(day), .owner = task.owner, .type = task.type, .runner = agent ? agent->preset : ""};
}

std::string next_run_json(const NextRun& next) {
  json::Writer writer;
  writer.begin_object().key("session").string(name_of(next.session));
  if (next.model) writer.key("model").string(*next.model);
  if (next.timeout) writer.key("timeout_ms").number(next.timeout->count());
  writer.end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, NextRun& out) {
  json::Reader in(json);
  std::string session;
  std::optional<std::int64_t> timeout_ms;
  in.need("session", session).get("model", out.model).get("timeout_ms", timeout_ms);
  TRY(in.finish());
  const auto use = parse_session_use(session);
  if (!use) return fail(ErrorCode::kInvalidArgument, "session: expected fresh or resume");
  out.session = *use;
  if (timeout_ms) out.timeout = Millis(*timeout_ms);
  return {};
}

NextRun next_run_of(const Task& task) {
  NextRun next;
  if (!task.next || !read_json(*task.next, next)) return {};
  return next;
}

std::string provider_signal_json(const ProviderSignal& signal) {
  json::Writer writer;
  writer.begin_object().key("answered").boolean(signal.answered);
  if (signal.throttle) {
    writer.key("throttle").begin_object().key("class").string(name_of(signal.throttle->error_class));
    if (signal.throttle->retry_after) writer.key("retry_after_ms").number(signal.throttle->retry_after->count());
    writer.end_object();
  }
  writer.end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, ProviderThrottle& out) {
  json::Reader in(json);
  std::string error_class;
  std::optional<std::int64_t> retry_after_ms;
  in.need("class", error_class).get("retry_after_ms", retry_after_ms);
  TRY(in.finish_strictly());
  out.error_class = TRY(parse_reported_class(error_class));
  if (!is_throttle(out.error_class)) {
    return fail(ErrorCode::kInvalidArgument, "class: expected rate_limited, overloaded or quota_exhausted");
  }
  if (retry_after_ms) out.retry_after = Millis(std::clamp<std::int64_t>(*retry_after_ms, 0, kDurationMax.count()));
  return {};
}

Status read_json(std::string_view json, ProviderSignal& out) {
  json::Reader in(json);
  in.get("answered", out.answered).get("throttle", out.throttle);
  return in.finish_strictly();
}

bool has_passed(const std::optional<JsonText>& evidence) {
  if (!evidence) return false;
  const auto value = json::parse(*evidence);
  const json::Value* code = value ? value->find("exit_code") : nullptr;
  return code != nullptr && code->as_int() == 0;
}

std::vector<std::string> changed_files(const std::optional<JsonText>& evidence) {
  const auto value = json::parse(evidence.value_or("{}"));
  const json::Value* changed = value ? value->find("changed") : nullptr;
  std::vector<std::string> files;
  if (changed == nullptr || changed->as_array() == nullptr) return files;
  for (const json::Value& file : *changed->as_array()) {
    if (file.as_string() != nullptr) files.push_back(*file.as_string());
  }
  return files;
}

std::optional<std::string> why_unverified(VerifyRule rule, const std::optional<JsonText>& evidence) {
  if (rule == VerifyRule::kOptional) return std::nullopt;
  if (!has_passed(evidence)) {
    return fmt::format(
        "the type has verify: {}, but this run reported no passed check; add verify to the runner's profile",
        name_of(rule));
  }
  if (rule == VerifyRule::kRequired) return std::nullopt;
  const auto value = json::parse(*evidence);
  const json::Value* changed = value->find("changed");
  if (changed == nullptr || changed->as_array() == nullptr) {
    return "the type has verify: unchanged, but this run does not say whether it changed its check; give the runner a "
           "workspace with a repository";
  }
  if (changed->as_array()->empty()) return std::nullopt;
  const std::vector<std::string> files = changed_files(evidence);
  return fmt::format("the run changed what checks it: {}{}; restore that, and change the code instead",
                     fmt::join(files | std::views::take(kNamedMax), ", "),
                     files.size() > kNamedMax ? " and others" : "");
}

Status check_report(const RunReport& report) {
  if (report.agent) TRY(check_agent(*report.agent));
  if (report.usage) {
    if (const Status good = check_usage(*report.usage); !good) return at_field("usage", good.error());
  }
  return report.evidence ? check_evidence(*report.evidence) : Status();
}

std::vector<LedgerEntry> take_report(TaskRecord& record, const RunReport& report, IsLast is_last,
                                     const PriceTable& prices, Time now) {
  Task& task = record.task;
  if (report.provider && report.provider->answered) record.answered_run = task.run;
  if (report.agent) task.agent = agent_json(*report.agent);
  if (!report.usage) return {};
  const Usage before = usage_of(record.run_usage);
  Usage said = priced(*report.usage, prices);
  if (is_last == IsLast::kNo) said = most_of(before, std::move(said));
  if (record.run_usage && said == before) return {};
  record.run_usage = usage_json(said);
  task.usage = usage_json(usage_of(record.ended_usage) + said);
  return booked(ledger_key(task, day_of(now)), planted(PlantedBug::kUsageBookedAgain) ? Usage() : before, said);
}

}  // namespace drover
