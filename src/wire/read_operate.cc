// What operators look at.
#include "base/json_reader.h"
#include "base/try.h"
#include "wire/read.h"
#include "wire/read_names.h"

namespace drover {
namespace {

using json::Reader;

// "opened" stands for a time that only a hand brings about.
struct Until {
  Time time{};
};

Status read_json(std::string_view json, Until& out) {
  if (json == R"("opened")") {
    out.time = kUntilOpened;
    return {};
  }
  return json::read_json(json, out.time);
}

void get_until(Reader& in, std::string_view name, std::optional<Time>& out) {
  std::optional<Until> until;
  in.get(name, until);
  if (until) out = until->time;
}

struct Counts {
  std::array<std::int64_t, kTaskStateCount> tasks{};
};

Status read_json(std::string_view json, Counts& out) {
  Reader in(json);
  for (std::size_t i = 0; i < out.tasks.size(); ++i) in.need(name_of(static_cast<TaskState>(i)), out.tasks[i]);
  return in.finish();
}

}  // namespace

Status read_json(std::string_view json, HoldSource& out) {
  return read_name(json, out, "source of a hold", parse_hold_source);
}

Status read_json(std::string_view json, Hold& out) {
  Reader in(json);
  in.need("source", out.source).get("permits", out.permits).need("why", out.why).need("by", out.by);
  in.need("since", out.since);
  get_until(in, "closed_until", out.closed_until);
  return in.finish();
}

Status read_json(std::string_view json, Explanation::Reason& out) {
  return read_name(json, out, "reason", [](std::string_view name) -> std::optional<Explanation::Reason> {
    using enum Explanation::Reason;
    for (const auto reason :
         {kRunning, kEnded, kBlocked, kQuestion, kScheduled, kGate, kInLine, kNoWorker, kStoreRegressed}) {
      if (name_of(reason) == name) return reason;
    }
    return std::nullopt;
  });
}

Status read_json(std::string_view json, AlertKind& out) {
  return read_name(json, out, "kind of alert", parse_alert_kind);
}

Status read_json(std::string_view json, Severity& out) {
  return read_name(json, out, "severity", parse_severity);
}

Status read_json(std::string_view json, Rates& out) {
  Reader in(json);
  in.need("enqueued", out.enqueued).need("started", out.started).need("completed", out.completed);
  in.need("failed", out.failed).need("retried", out.retried);
  return in.finish();
}

Status read_json(std::string_view json, Durations& out) {
  Reader in(json);
  in.get("p50_ms", out.p50).get("p95_ms", out.p95);
  return in.finish();
}

Status read_json(std::string_view json, QueueStats& out) {
  Reader in(json);
  Counts counts;
  in.need("name", out.name).need("tasks", counts).get("waiting_since", out.waiting_since);
  in.need("workers", out.workers).need("free_slots", out.free_slots).need("rates", out.rates);
  in.need("waits", out.waits).need("runs", out.runs);
  out.tasks = counts.tasks;
  return in.finish();
}

Status read_json(std::string_view json, WorkerTotals& out) {
  Reader in(json);
  in.need("working", out.working).need("draining", out.draining).need("silent", out.silent);
  in.need("slots", out.slots).need("running", out.running).need("workspace_bytes", out.workspace_bytes);
  return in.finish();
}

Status read_json(std::string_view json, QuestionTotals& out) {
  Reader in(json);
  for (int i = 0; i < kQuestionStateCount; ++i) {
    in.need(name_of(static_cast<QuestionState>(i)), out.kept[static_cast<std::size_t>(i)]);
  }
  in.need("tasks_waiting", out.tasks_waiting).get("oldest_open_at", out.oldest_open_at);
  return in.finish();
}

Status read_json(std::string_view json, PermitTotals& out) {
  Reader in(json);
  in.need("in_use", out.in_use).need("permits", out.permits).need("gates", out.gates);
  return in.finish();
}

Status read_json(std::string_view json, ErrorGroup& out) {
  Reader in(json);
  in.get("fingerprint", out.fingerprint).get("class", out.error_class).need("pattern", out.pattern);
  in.need("count", out.count).need("escalated", out.escalated).need("types", out.types);
  in.need("first_at", out.first_at).need("last_at", out.last_at).need("example", out.example);
  return in.finish();
}

Status read_json(std::string_view json, GateStatus& out) {
  Reader in(json);
  std::optional<std::string> rate;
  std::int64_t burst = 1;
  in.need("name", out.name).get("permits", out.permits).get("in_use", out.in_use).get("rate", rate);
  in.get("burst", burst).need("waiting_lanes", out.waiting_lanes).need("holds", out.holds);
  in.get("waiting_tasks", out.waiting_tasks).get("would_start", out.would_start).get("budgets", out.budgets);
  get_until(in, "closed_until", out.closed_until);
  if (rate) {
    auto parsed = parse_rate(*rate);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    out.rate = *parsed;
    out.rate->burst = burst;
  }
  return in.finish();
}

Status read_json(std::string_view json, HeldTasks& out) {
  Reader in(json);
  in.need("gate", out.gate).need("tasks", out.tasks).need("since", out.since).need("shut", out.shut);
  in.need("why", out.why);
  return in.finish();
}

Status read_json(std::string_view json, QueueStatus& out) {
  Reader in(json);
  in.need("name", out.name).need("waiting", out.waiting).need("running", out.running);
  in.need("scheduled", out.scheduled).need("blocked", out.blocked).get("gate", out.gate);
  in.get("held", out.held);
  return in.finish();
}

Status read_json(std::string_view json, Explanation::Link& out) {
  Reader in(json);
  in.need("id", out.id).need("state", out.state).need("reason", out.reason).need("text", out.text);
  in.get("gate", out.gate);
  get_until(in, "at", out.at);
  return in.finish();
}

Status read_json(std::string_view json, Explanation& out) {
  Reader in(json);
  in.need("reason", out.reason).need("text", out.text).get("gate", out.gate).get("ahead", out.ahead);
  in.need("waits_for", out.waits_for).need("refusing", out.refusing).get("chain", out.chain);
  get_until(in, "at", out.at);
  return in.finish();
}

Status read_json(std::string_view json, StuckGroup& out) {
  Reader in(json);
  in.need("reason", out.reason).get("gate", out.gate).get("queue", out.queue).need("tasks", out.tasks);
  in.need("since", out.since).need("example", out.example).need("text", out.text);
  get_until(in, "at", out.at);
  return in.finish();
}

Status read_json(std::string_view json, StuckReport& out) {
  Reader in(json);
  in.need("groups", out.groups).need("unexamined", out.unexamined);
  in.need("scheduled", out.scheduled).need("blocked", out.blocked);
  return in.finish();
}

Status read_json(std::string_view json, Alert& out) {
  Reader in(json);
  in.need("kind", out.kind).need("severity", out.severity).need("subject", out.subject);
  in.need("detail", out.detail).need("fix", out.fix).get("raised_at", out.raised_at);
  in.get("snoozed_until", out.snoozed_until).get("snoozed_by", out.snoozed_by).get("snoozed_why", out.snoozed_why);
  return in.finish();
}

Status read_json(std::string_view json, PastAlert& out) {
  TRY(read_json(json, out.alert));
  Reader in(json);
  in.need("cleared_at", out.cleared_at);
  return in.finish();
}

Status read_json(std::string_view json, SavedView& out) {
  Reader in(json);
  in.need("name", out.name).need("query", out.query).need("updated_at", out.updated_at);
  return in.finish();
}

Status read_json(std::string_view json, StatsBucket& out) {
  Reader in(json);
  in.need("at", out.at).need("enqueued", out.enqueued).need("started", out.started).need("completed", out.completed);
  in.need("failed", out.failed).need("retried", out.retried).need("deferred", out.deferred);
  in.need("cancelled", out.cancelled).get("wait_p50_ms", out.waits.p50).get("wait_p95_ms", out.waits.p95);
  in.get("run_p50_ms", out.runs.p50).get("run_p95_ms", out.runs.p95).get("cost_micro_usd", out.cost_micro_usd);
  in.get("tokens", out.tokens);
  return in.finish();
}

Status read_json(std::string_view json, StatsHistory& out) {
  Reader in(json);
  Millis step{0};
  in.need("step_ms", step).need("from", out.from).need("until", out.until).need("buckets", out.buckets);
  out.step = step == Millis{60'000} ? HistoryStep::kMinute : HistoryStep::kHour;
  return in.finish();
}

Status read_json(std::string_view json, Stats& out) {
  Reader in(json);
  Counts counts;
  in.need("at", out.at).need("tasks", counts).need("window_ms", out.window).need("rates", out.rates);
  in.need("waits", out.waits).need("runs", out.runs).need("queues", out.queues).need("workers", out.workers);
  in.need("permits", out.permits).need("questions", out.questions).need("alerts", out.alerts);
  out.tasks = counts.tasks;
  return in.finish();
}

Status read_json(std::string_view json, Backlog& out) {
  Reader in(json);
  in.need("waiting", out.waiting).need("running", out.running).need("blocked", out.blocked);
  return in.finish();
}

Status read_json(std::string_view json, Finding& out) {
  Reader in(json);
  in.need("code", out.code).need("detail", out.detail).need("repaired", out.repaired);
  return in.finish();
}

Status read_json(std::string_view json, ConfigVersion& out) {
  Reader in(json);
  in.need("version", out.version).need("applied_at", out.applied_at);
  return in.finish();
}

Status read_json(std::string_view json, Config& out) {
  Reader in(json);
  std::optional<JsonText> document;
  in.need("version", out.version).get_text("document", document);
  out.document = std::move(document).value_or("{}");
  return in.finish();
}

}  // namespace drover
