#include "core/session_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/names.h"
#include "core/run_report.h"
#include "core/spec_check.h"

namespace drover {
namespace {

using json::Writer;

constexpr Names<kSessionStateCount> kStateNames{"busy", "waiting", "warm", "cold"};
constexpr std::string_view kOwnerEnd = "::";
constexpr std::size_t kBootstrapTextBytesMax = 64 * 1024;

void put_time(Writer& out, std::string_view key, const std::optional<Time>& time) {
  out.key(key);
  time ? out.string(format_time(*time)) : out.null();
}

void put_agent(Writer& out, const std::optional<AgentState>& agent) {
  out.key("agent");
  agent ? out.raw(agent_json(*agent)) : out.null();
}

void put_names(Writer& out, std::string_view key, const std::vector<std::string>& names) {
  out.key(key).begin_array();
  for (const std::string& name : names) out.string(name);
  out.end_array();
}

void put_ids(Writer& out, std::string_view key, const std::vector<TaskId>& ids) {
  out.key(key).begin_array();
  for (const TaskId& id : ids) out.string(id.to_string());
  out.end_array();
}

// All that it was told, and by which agent, is of no use any more.
void forget(SessionRecord& record) {
  record.agent.reset();
  record.preflight_done = false;
  record.bootstrap_keys.clear();
  record.runs = 0;
}

void remember_key(SessionRecord& record, const std::string& key) {
  std::erase(record.bootstrap_keys, key);
  record.bootstrap_keys.push_back(key);
  if (record.bootstrap_keys.size() > kBootstrapKeysMax) record.bootstrap_keys.erase(record.bootstrap_keys.begin());
}

// An agent that began anew was told nothing of what its predecessor knew.
void take_agent(SessionRecord& record, const AgentState& agent) {
  if (agent.session_id.empty()) return;
  if (!record.agent || record.agent->session_id != agent.session_id) {
    record.preflight_done = false;
    record.bootstrap_keys.clear();
  }
  record.agent = agent;
}

bool is_too_long(const Settlement& end) {
  const auto* failure = std::get_if<Failure>(&end.end);
  return failure != nullptr && failure->error_class == ErrorClass::kContextTooLong;
}

// It never came to talk to its agent.
bool has_not_begun(const Settlement& end) {
  const auto* release = std::get_if<Release>(&end.end);
  return release != nullptr && release->begun != Begun::kMaybe;
}

}  // namespace

std::string_view name_of(SessionState state) {
  return name_in(kStateNames, state);
}
std::optional<SessionState> parse_session_state(std::string_view name) {
  return value_in<SessionState>(kStateNames, name);
}

JsonText session_record_json(const SessionRecord& record) {
  Writer out;
  out.begin_object();
  put_agent(out, record.agent);
  out.key("preflight_done").boolean(record.preflight_done);
  put_names(out, "bootstrap_keys", record.bootstrap_keys);
  out.key("runs").number(record.runs).key("created_at").string(format_time(record.created_at));
  out.key("last_used_at").string(format_time(record.last_used_at));
  put_time(out, "reset_at", record.reset_at);
  put_ids(out, "tasks", record.tasks);
  out.end_object();
  return std::move(out).take();
}

Result<SessionRecord> parse_session_record(std::string_view json) {
  SessionRecord record;
  json::Reader in(json);
  in.get("agent", record.agent).need("preflight_done", record.preflight_done);
  in.need("bootstrap_keys", record.bootstrap_keys).need("runs", record.runs).need("created_at", record.created_at);
  in.need("last_used_at", record.last_used_at).get("reset_at", record.reset_at).need("tasks", record.tasks);
  TRY(in.finish());
  return record;
}

Result<SessionRecord> session_of(const GateRecord& gate, Time now) {
  if (!gate.session) return SessionRecord{.created_at = now, .last_used_at = now};
  auto record = parse_session_record(*gate.session);
  if (record) return record;
  return fail(ErrorCode::kStoreDamaged,
              fmt::format("the record of {} cannot be read: {}", gate.name, record.error().message));
}

Status check_session_name(std::string_view name) {
  TRY(check_name(name));
  if (name.find(':') == std::string_view::npos) return {};
  return fail(ErrorCode::kInvalidArgument, "a session's name has no colon, unlike " + quoted_excerpt(name));
}

Status check_bootstrap(std::string_view json) {
  Bootstrap bootstrap;
  json::Reader in(json);
  in.need("key", bootstrap.key).need("text", bootstrap.text);
  TRY(in.finish_strictly());
  if (const Status good = check_name(bootstrap.key); !good) return at_field("key", good.error());
  if (!bootstrap.text.empty() && bootstrap.text.size() <= kBootstrapTextBytesMax) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("text: expected 1 to {} bytes, not {}", kBootstrapTextBytesMax, bootstrap.text.size()));
}

std::optional<Bootstrap> bootstrap_of(const Task& task) {
  if (!task.bootstrap) return std::nullopt;
  Bootstrap bootstrap;
  json::Reader in(*task.bootstrap);
  in.need("key", bootstrap.key).need("text", bootstrap.text);
  return in.finish() ? std::optional(std::move(bootstrap)) : std::nullopt;
}

std::string session_gate(const SessionName& name) {
  return gate_name(GateKind::kSession, name.owner + std::string(kOwnerEnd) + name.name);
}

std::optional<SessionName> parse_session_gate(std::string_view gate) {
  const auto subject = subject_of(gate, GateKind::kSession);
  if (!subject || !check_gate_name(gate)) return std::nullopt;
  const std::size_t colon = subject->rfind(':');
  return SessionName{.owner = std::string(subject->substr(0, colon - 1)),
                     .name = std::string(subject->substr(colon + 1))};
}

std::optional<std::string> session_gate_of(const Task& task) {
  const auto found = std::ranges::find_if(task.gates, is_session_gate);
  return found != task.gates.end() ? std::optional(*found) : std::nullopt;
}

SessionRecord as_of(SessionRecord record, const SessionPolicy& policy, Time now) {
  if (is_over(record, policy, now)) forget(record);
  return record;
}

bool is_over(const SessionRecord& record, const SessionPolicy& policy, Time now) {
  return now - record.last_used_at > policy.idle;
}

SessionStart start_in(const SessionRecord& record, const SessionPolicy& policy, const Task& task) {
  const SessionRecord fresh = as_of(record, policy, task.started_at.value_or(record.last_used_at));
  SessionStart start{.preflight = policy.preflight, .preflight_due = !fresh.preflight_done};
  const auto bootstrap = bootstrap_of(task);
  start.bootstrap_due =
      bootstrap && std::ranges::find(fresh.bootstrap_keys, bootstrap->key) == fresh.bootstrap_keys.end();
  const bool begins_afresh = task.next && next_run_of(task).session == SessionUse::kFresh;
  if (begins_afresh) return start;
  start.agent = fresh.agent ? fresh.agent : task.next ? agent_of(task) : std::nullopt;
  return start;
}

Status join(SessionRecord& record, const TaskId& task) {
  if (std::ranges::find(record.tasks, task) != record.tasks.end()) return {};
  if (record.tasks.size() >= kSessionTasksMax) {
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("session: {} tasks of it have not ended, and no more are allowed", record.tasks.size()));
  }
  record.tasks.push_back(task);
  return {};
}

SessionRecord after_run(SessionRecord record, const SessionPolicy& policy, const SessionRun& run, Time now) {
  const Time started_at = run.before.started_at.value_or(now);
  if (is_terminal(run.after)) std::erase(record.tasks, run.before.id);
  // It began in a session that is no more.
  if (record.reset_at && *record.reset_at >= started_at) return record;
  if (has_not_begun(run.end)) return record;
  record = as_of(std::move(record), policy, started_at);
  record.last_used_at = now;
  record.runs += 1;
  if (run.end.report.agent) take_agent(record, *run.end.report.agent);
  // A run that suspends once too often fails its task.
  const bool succeeded = run.after == TaskState::kCompleted ||
                         (std::holds_alternative<Suspend>(run.end.end) && run.after != TaskState::kFailed);
  if (succeeded || planted(PlantedBug::kBootstrapMarkedEarly)) {
    record.preflight_done = true;
    if (run.bootstrap_key) remember_key(record, *run.bootstrap_key);
  }
  if (is_too_long(run.end)) forget(record);
  return record;
}

void reset(SessionRecord& record, Time now) {
  forget(record);
  record.reset_at = now;
}

SessionInfo info_of(const SessionName& name, const SessionRecord& record, const SessionPolicy& policy,
                    const GateUse& use, Time now) {
  const SessionRecord fresh = as_of(record, policy, now);
  SessionInfo info{.name = name,
                   .agent = fresh.agent,
                   .preflight_done = fresh.preflight_done,
                   .bootstrap_keys = fresh.bootstrap_keys,
                   .runs = fresh.runs,
                   .created_at = fresh.created_at,
                   .last_used_at = fresh.last_used_at,
                   .idle_at = fresh.last_used_at + policy.idle,
                   .reset_at = fresh.reset_at,
                   .tasks = fresh.tasks};
  if (use.in_use > 0) {
    info.state = SessionState::kBusy;
  } else if (!info.tasks.empty()) {
    info.state = SessionState::kWaiting;
  } else {
    info.state = info.agent || info.preflight_done ? SessionState::kWarm : SessionState::kCold;
  }
  return info;
}

std::string to_json(const SessionInfo& session) {
  Writer out;
  out.begin_object().key("owner").string(session.name.owner).key("name").string(session.name.name);
  out.key("state").string(name_of(session.state));
  put_agent(out, session.agent);
  out.key("preflight_done").boolean(session.preflight_done);
  put_names(out, "bootstrap_keys", session.bootstrap_keys);
  out.key("runs").number(session.runs);
  put_time(out, "created_at", session.created_at);
  put_time(out, "last_used_at", session.last_used_at);
  put_time(out, "idle_at", session.idle_at);
  put_time(out, "reset_at", session.reset_at);
  put_ids(out, "tasks", session.tasks);
  out.key("running");
  session.running ? out.string(session.running->to_string()) : out.null();
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, SessionInfo& out) {
  json::Reader in(json);
  std::string state;
  in.need("owner", out.name.owner).need("name", out.name.name).need("state", state).get("agent", out.agent);
  in.need("preflight_done", out.preflight_done).need("bootstrap_keys", out.bootstrap_keys).need("runs", out.runs);
  in.need("created_at", out.created_at).need("last_used_at", out.last_used_at).get("idle_at", out.idle_at);
  in.get("reset_at", out.reset_at).need("tasks", out.tasks).get("running", out.running);
  TRY(in.finish());
  const auto known = parse_session_state(state);
  if (!known) return fail(ErrorCode::kInvalidArgument, "state: expected busy, waiting, warm or cold");
  out.state = *known;
  return {};
}

Status read_json(std::string_view json, SessionPage& out) {
  json::Reader in(json);
  in.need("sessions", out.sessions).get("cursor", out.cursor);
  return in.finish();
}

std::string to_json(const SessionStart& start) {
  Writer out;
  out.begin_object();
  put_agent(out, start.agent);
  out.key("preflight").string_or_null(start.preflight).key("preflight_due").boolean(start.preflight_due);
  out.key("bootstrap_due").boolean(start.bootstrap_due).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, SessionStart& out) {
  json::Reader in(json);
  in.get("agent", out.agent).get("preflight", out.preflight).need("preflight_due", out.preflight_due);
  in.need("bootstrap_due", out.bootstrap_due);
  return in.finish();
}

}  // namespace drover
