#include "core/run_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {
namespace {

constexpr std::size_t kTextBytesMax = 4'096;
constexpr std::size_t kModelsMax = 100;
constexpr std::size_t kEvidenceBytesMax = 64 * 1024;

std::int64_t token_count(const Usage& usage) {
  const TokenCounts& tokens = usage.tokens;
  return tokens.input + tokens.cached_input + tokens.cache_write + tokens.output;
}

bool is_behind(const Usage& said, const Usage& known) {
  return token_count(said) < token_count(known) || said.turns < known.turns;
}

Status check_text(std::string_view name, std::string_view text) {
  if (text.size() <= kTextBytesMax && is_utf8(text)) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("agent.{}: UTF-8 of at most {} bytes", name, kTextBytesMax));
}

Status check_usage(const Usage& usage) {
  if (usage.models.size() > kModelsMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("usage: at most {} models", kModelsMax));
  }
  for (const auto& [name, model] : usage.models) TRY(check_text("model", name));
  return {};
}

}  // namespace

std::string agent_json(const AgentState& agent) {
  json::Writer writer;
  writer.begin_object().key("preset").string(agent.preset);
  const auto text = [&](std::string_view name, const std::string& value) {
    writer.key(name);
    value.empty() ? writer.null() : writer.string(value);
  };
  text("session_id", agent.session_id);
  text("host", agent.host);
  text("workspace", agent.workspace);
  text("model", agent.model);
  writer.key("resumed").boolean(agent.resumed);
  writer.key("totals").raw(usage_json(agent.session_totals)).end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, AgentState& out) {
  json::Reader in(json);
  in.need("preset", out.preset).get("session_id", out.session_id).get("host", out.host);
  in.get("workspace", out.workspace).get("model", out.model).get("resumed", out.resumed);
  in.get("totals", out.session_totals);
  return in.finish();
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

bool has_passed(const std::optional<JsonText>& evidence) {
  if (!evidence) return false;
  const auto value = json::parse(*evidence);
  const json::Value* code = value ? value->find("exit_code") : nullptr;
  return code != nullptr && code->as_int() == 0;
}

Status check_report(const RunReport& report) {
  if (report.agent) {
    const AgentState& agent = *report.agent;
    if (!is_name(agent.preset)) return fail(ErrorCode::kInvalidArgument, "agent.preset is not a name");
    TRY(check_text("session_id", agent.session_id));
    TRY(check_text("host", agent.host));
    TRY(check_text("workspace", agent.workspace));
    TRY(check_text("model", agent.model));
    TRY(check_usage(agent.session_totals));
  }
  if (report.usage) TRY(check_usage(*report.usage));
  if (report.evidence) {
    const auto value = TRY(json::parse(*report.evidence));
    if (value.as_object() == nullptr) return fail(ErrorCode::kInvalidArgument, "evidence is not an object");
    if (report.evidence->size() > kEvidenceBytesMax) {
      return fail(ErrorCode::kPayloadTooLarge, fmt::format("the evidence has {} bytes; at most {} are kept",
                                                           report.evidence->size(), kEvidenceBytesMax));
    }
  }
  return {};
}

std::vector<LedgerEntry> take_report(TaskRecord& record, const RunReport& report, IsLast is_last,
                                     const PriceTable& prices, Time now) {
  Task& task = record.task;
  if (report.agent) task.agent = agent_json(*report.agent);
  if (!report.usage) return {};
  const Usage before = usage_of(record.run_usage);
  if (is_last == IsLast::kNo && is_behind(*report.usage, before)) return {};
  const Usage said = priced(*report.usage, prices);
  if (record.run_usage && said == before) return {};
  record.run_usage = usage_json(said);
  task.usage = usage_json(usage_of(record.ended_usage) + said);
  const auto agent = agent_of(task);
  const LedgerKey under{
      .day = day_of(now), .owner = task.owner, .type = task.type, .runner = agent ? agent->preset : ""};
  return booked(under, planted(PlantedBug::kUsageBookedAgain) ? Usage() : before, said);
}

}  // namespace drover
