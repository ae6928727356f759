// What workers say, and what they are told.
#include "base/json_reader.h"
#include "core/ledger.h"
#include "core/run_report.h"
#include "core/task_json.h"
#include "wire/read.h"
#include "wire/read_names.h"
#include "wire/write.h"

namespace drover {
using json::Reader;

Reader& read_report(Reader& in, RunReport& out) {
  std::optional<Said<AgentState>> agent;
  std::optional<Said<Usage>> usage;
  in.get("agent", agent).get("usage", usage).get_text("evidence", out.evidence).get("provider", out.provider);
  if (agent) out.agent = std::move(agent->what);
  if (usage) out.usage = std::move(usage->what);
  return in;
}

Status read_members(Reader& in, Completion& out) {
  in.get_any_text("result", out.result).get("exit_code", out.exit_code).get("note", out.note);
  return in.finish_strictly();
}

Status read_members(Reader& in, Failure& out) {
  in.need("class", out.error_class).get("message", out.message).get("retry_after_ms", out.retry_after);
  in.get("exit_code", out.exit_code).get("note", out.note).get("by_exit_code", out.by_exit_code);
  in.get("waits_at", out.waits_at);
  return in.finish_strictly();
}

Status read_members(Reader& in, Release& out) {
  std::optional<bool> begun;
  std::optional<bool> not_here;
  in.get("begun", begun).get("not_here", not_here);
  out.begun = not_here.value_or(false) ? Begun::kNotHere : begun.value_or(true) ? Begun::kMaybe : Begun::kNo;
  return in.finish_strictly();
}

Status read_members(Reader& in, CancelConfirmed& out) {
  in.get("exit_code", out.exit_code);
  return in.finish_strictly();
}

Status read_members(Reader& in, Suspend& out) {
  read_children(in, out);
  in.get("exit_code", out.exit_code);
  return in.finish_strictly();
}

Status read_json(std::string_view json, Serve& out) {
  Reader in(json);
  in.need("queue", out.queue).get("type", out.type).get("trouble", out.trouble);
  return in.finish();
}

Status read_json(std::string_view json, WorkerInfo& out) {
  Reader in(json);
  in.need("id", out.id).need("version", out.version).need("serves", out.serves).get("capacity", out.capacity);
  in.get("registered_at", out.registered_at).get("last_beat_at", out.last_beat_at).get("draining", out.draining);
  in.get("drain_by", out.drain_by).get("drain_reason", out.drain_reason).get("running", out.running);
  in.get("token_id", out.token_id);
  return in.finish();
}

Status read_json(std::string_view json, Lease& out) {
  Reader in(json);
  in.need("task_id", out.task).need("lease_id", out.id);
  return in.finish();
}

Status read_json(std::string_view json, LeaseState& out) {
  return read_name(json, out, "lease state", [](std::string_view name) -> std::optional<LeaseState> {
    for (const LeaseState state : {LeaseState::kHeld, LeaseState::kCancelRequested, LeaseState::kLost}) {
      if (name_of(state) == name) return state;
    }
    return std::nullopt;
  });
}

Status read_json(std::string_view json, ClaimRequest& out) {
  Reader in(json);
  Millis wait{0};  // the server's business
  in.get("worker_id", out.worker_id).need("serves", out.serves).get("n", out.n).get("lease_ms", out.lease);
  in.get("capacity", out.capacity).get("running_priorities", out.running_priorities).get("wait_ms", wait);
  in.get("claim_key", out.claim_key);
  return in.finish_strictly();
}

Status read_json(std::string_view json, ClaimedTask& out) {
  Reader in(json);
  in.need("task", out.task).need("lease_id", out.lease.id).need("earlier_runs", out.earlier_runs);
  out.lease.task = out.task.id;
  return in.finish();
}

Status read_json(std::string_view json, Beat& out) {
  Reader in(json);
  in.need("leases", out.leases).need("drain", out.drain);
  return in.finish();
}

Status read_json(std::string_view json, Settlement& out) {
  Reader in(json);
  std::string end;
  in.need("task_id", out.lease.task).need("lease_id", out.lease.id).need("end", end);
  read_report(in, out.report);
  if (end == "complete") return read_members(in, out.end.emplace<Completion>());
  if (end == "fail") return read_members(in, out.end.emplace<Failure>());
  if (end == "release") return read_members(in, out.end.emplace<Release>());
  if (end == "cancelled") return read_members(in, out.end.emplace<CancelConfirmed>());
  if (end == "suspend") return read_members(in, out.end.emplace<Suspend>());
  in.refuse("end: expected complete, fail, release, cancelled or suspend");
  return in.finish();
}

Status read_json(std::string_view json, UsageRow& out) {
  Reader in(json);
  for (int i = 0; i < kUsageDimensionCount; ++i) {
    const auto dimension = static_cast<UsageDimension>(i);
    std::optional<std::string> name;
    in.get(name_of(dimension), name);
    if (name) out.names[dimension] = *std::move(name);
  }
  AmountNumbers numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!kAmountFields[i].name.ends_with("_cost")) in.get(kAmountFields[i].name, numbers[i]);
  }
  out.amounts = amounts_of(numbers);
  for (const auto& [name, cost] :
       {std::pair{"reported_cost_usd", &out.amounts.reported_cost}, {"table_cost_usd", &out.amounts.table_cost}}) {
    std::optional<std::string> text;
    in.get_text(name, text);
    const bool is_negative = text && text->starts_with('-');  // a correction
    const MicroDollars amount = text ? dollars(std::string_view(*text).substr(is_negative ? 1 : 0)).value_or(0) : 0;
    *cost = is_negative ? -amount : amount;
  }
  return in.finish();
}

}  // namespace drover
