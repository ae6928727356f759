#include "engine/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/gate_status.h"

namespace drover {
namespace {

constexpr std::string_view kPrefix = "session:";
constexpr std::string_view kSuperseded = "superseded";
// A record with fewer tasks is written as it is, without a look at whether they have ended.
constexpr std::size_t kTasksUnlookedMax = 64;
constexpr int kSessionsPage = 256;

std::string prefix_of(const std::optional<std::string>& owner) {
  return owner ? session_gate({.owner = *owner, .name = ""}) : std::string(kPrefix);
}

bool is_reopened(const Step& step) {
  return std::ranges::any_of(step.events, [](const EventDraft& event) {
    return event.name == "task.retried" || event.name == "task.revived";
  });
}

Status check_session(const SessionName& name) {
  if (auto valid = check_name(name.owner); !valid) return at_field("owner", valid.error());
  if (auto valid = check_session_name(name.name); !valid) return at_field("name", valid.error());
  return {};
}

std::unexpected<Error> no_such_session(const SessionName& name) {
  return fail(
      ErrorCode::kNotFound,
      fmt::format("there is no session {} of {}: it has not been used, or not for a long time", name.name, name.owner));
}

EventDraft reset_event(const SessionName& name, const Verdict& verdict) {
  json::Writer data;
  data.begin_object().key("owner").string(name.owner).key("session").string(name.name);
  data.key("by").string(verdict.by).key("why").string(verdict.why).end_object();
  return {.name = "session.reset", .data = std::move(data).take()};
}

// What only a look at the tasks of sessions can tell.
Status look_at_tasks(Store& store, std::span<SessionInfo> sessions) {
  std::vector<TaskId> ids;
  for (const SessionInfo& session : sessions) ids.insert(ids.end(), session.tasks.begin(), session.tasks.end());
  if (ids.empty()) return {};
  const auto read = TRY(store.read(ids, Parts::kHead));
  std::size_t at = 0;
  for (SessionInfo& session : sessions) {
    std::vector<TaskId> left;
    for (std::size_t i = 0; i < session.tasks.size(); ++i, ++at) {
      const std::optional<TaskRecord>& record = read[at];
      if (!record || is_terminal(record->task.state)) continue;
      left.push_back(record->task.id);
      if (record->task.state == TaskState::kRunning) session.running = record->task.id;
    }
    session.tasks = std::move(left);
    if (session.state != SessionState::kWaiting || !session.tasks.empty()) continue;
    session.state = session.agent || session.preflight_done ? SessionState::kWarm : SessionState::kCold;
  }
  return {};
}

Result<SessionInfo> session_info(const GateState& state, const Policy& policy, Time now) {
  const auto name = parse_session_gate(state.record.name);
  if (!name) return fail(ErrorCode::kStoreDamaged, fmt::format("{} is no gate of a session", state.record.name));
  const auto record = TRY(session_of(state.record, now));
  return info_of(*name, record, policy.session(name->name), state.use, now);
}

// Those of the record's tasks that have not ended.
Result<std::vector<TaskId>> live_tasks(Store& store, const SessionRecord& record) {
  std::vector<TaskId> live;
  const auto read = TRY(store.read(record.tasks, Parts::kHead));
  for (const std::optional<TaskRecord>& task : read) {
    if (task && !is_terminal(task->task.state)) live.push_back(task->task.id);
  }
  return live;
}

}  // namespace

GateStep session_step(const GateRecord& gate, const SessionRecord& record) {
  GateStep step{.name = gate.name, .expected_revision = gate.revision, .next = gate};
  step.next->session = session_record_json(record);
  return step;
}

// ---- enqueue

Result<SessionDesk::Seen*> SessionDesk::look_at(const std::string& gate) {
  if (const auto known = seen_.find(gate); known != seen_.end()) return &known->second;
  auto states = TRY(store_.read_gates(std::span(&gate, 1)));
  Seen seen{.gate = std::move(states.front().record), .is_in_use = states.front().use.in_use > 0};
  seen.record = TRY(session_of(seen.gate, now_));
  return &seen_.emplace(gate, std::move(seen)).first->second;
}

Result<std::vector<TaskRecord>> SessionDesk::unfinished(Seen& seen) {
  TRY(view_.prefetch(seen.record.tasks));
  std::vector<TaskRecord> found;
  for (const TaskId& id : seen.record.tasks) {
    const TaskRecord* decided = cascade_.decided(id);
    std::optional<TaskRecord> record =
        TRY(decided != nullptr ? Result<std::optional<TaskRecord>>(*decided) : view_.find(id, Parts::kHead));
    if (record && !is_terminal(record->task.state)) found.push_back(*std::move(record));
  }
  seen.record.tasks.clear();
  for (const TaskRecord& record : found) seen.record.tasks.push_back(record.task.id);
  return found;
}

Status SessionDesk::interrupt(const Task& task, const std::vector<TaskRecord>& others) {
  for (const TaskRecord& other : others) {
    if (other.task.id == task.parent_id) {
      return fail(ErrorCode::kInvalidArgument, "busy: a task cannot interrupt the one that spawns it");
    }
    // What an earlier one took along has ended by now, or was asked to stop.
    const TaskRecord* decided = cascade_.decided(other.task.id);
    const TaskRecord current = decided != nullptr ? *decided : other;
    if (is_terminal(current.task.state) || current.task.cancel_requested_at) continue;
    if (current.task.state == TaskState::kRunning && planted(PlantedBug::kInterruptSparesRunning)) continue;
    TRY(cascade_.run(current, trigger::Cancel{.reason = std::string(kSuperseded)}));
  }
  return {};
}

Status SessionDesk::admit(const Task& task, BusyRule busy) {
  const auto gate = session_gate_of(task);
  if (!gate) return {};
  Seen* seen = TRY(look_at(*gate));
  if (busy != BusyRule::kEnqueue || seen->record.tasks.size() >= kTasksUnlookedMax) {
    const auto others = TRY(unfinished(*seen));
    if (busy == BusyRule::kInterrupt) {
      TRY(interrupt(task, others));
      TRY(unfinished(*seen));
    }
    if (busy == BusyRule::kReject && (!others.empty() || seen->is_in_use)) {
      const std::string who = others.empty() ? "a task" : fmt::format("task {}", others.front().task.id.to_string());
      return fail(
          ErrorCode::kSessionBusy,
          fmt::format("{} is busy with {}; wait for it, or enqueue with busy: enqueue or interrupt", *gate, who));
    }
  }
  return join(seen->record, task.id);
}

std::vector<GateStep> SessionDesk::take_steps() {
  std::vector<GateStep> steps;
  for (const auto& [name, seen] : seen_) steps.push_back(session_step(seen.gate, seen.record));
  seen_.clear();
  return steps;
}

// ---- retry

Status rejoin_sessions(Store& store, StepGroup& group, Time now) {
  std::map<std::string, std::vector<TaskId>> joined;
  for (const Step& step : group.steps) {
    const auto gate = is_reopened(step) ? session_gate_of(step.next.task) : std::nullopt;
    if (gate) joined[*gate].push_back(step.next.task.id);
  }
  for (const auto& [gate, tasks] : joined) {
    const auto states = TRY(store.read_gates(std::span(&gate, 1)));
    auto record = TRY(session_of(states.front().record, now));
    for (const TaskId& task : tasks) TRY(join(record, task));
    group.gates.push_back(session_step(states.front().record, record));
  }
  return {};
}

// ---- looking

Result<std::optional<TaskId>> holder_of_session(Store& store, const std::string& gate, Time now) {
  const auto states = TRY(store.read_gates(std::span(&gate, 1)));
  const auto record = TRY(session_of(states.front().record, now));
  const auto read = TRY(store.read(record.tasks, Parts::kHead));
  for (const std::optional<TaskRecord>& task : read) {
    if (task && task->task.state == TaskState::kRunning) return task->task.id;
  }
  return std::nullopt;
}

Result<SessionPage> Engine::sessions(const SessionQuery& query) {
  if (query.limit < 1 || query.limit > kPageMax) {
    return drover::fail(ErrorCode::kInvalidArgument, fmt::format("limit: expected 1 to {}", kPageMax));
  }
  if (query.owner) {
    if (auto valid = check_name(*query.owner); !valid) return at_field("owner", valid.error());
  }
  const auto policy = TRY(this->policy());
  const Time now = TRY(store_.now());
  const auto states = TRY(store_.gates_from(prefix_of(query.owner), query.cursor.value_or(""), query.limit + 1));
  SessionPage page;
  const auto shown = std::min(states.size(), static_cast<std::size_t>(query.limit));
  if (shown < states.size()) page.cursor = states[shown - 1].record.name;
  for (const GateState& state : std::span(states).first(shown)) {
    auto session = TRY(session_info(state, *policy, now));
    // An owner's name may begin as another's does.
    if (query.owner && session.name.owner != *query.owner) continue;
    page.sessions.push_back(std::move(session));
  }
  TRY(look_at_tasks(store_, page.sessions));
  return page;
}

Result<SessionInfo> Engine::session(const SessionName& name) {
  TRY(check_session(name));
  const auto policy = TRY(this->policy());
  const Time now = TRY(store_.now());
  const std::string gate = session_gate(name);
  const auto states = TRY(store_.read_gates(std::span(&gate, 1)));
  if (!states.front().record.session) return no_such_session(name);
  auto session = TRY(session_info(states.front(), *policy, now));
  TRY(look_at_tasks(store_, std::span(&session, 1)));
  return session;
}

Result<SessionInfo> Engine::reset_session(const SessionName& name, const Verdict& verdict) {
  TRY(check_session(name));
  TRY(check_verdict(verdict));
  const std::string gate = session_gate(name);
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const Time now = TRY(store_.now());
    const auto states = TRY(store_.read_gates(std::span(&gate, 1)));
    if (!states.front().record.session) return no_such_session(name);
    auto record = TRY(session_of(states.front().record, now));
    reset(record, now);
    StepGroup group;
    group.gates.push_back(session_step(states.front().record, record));
    group.gates.front().events.push_back(reset_event(name, verdict));
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return session(name);
  }
  return too_much_contention("reset_session");
}

// ---- claim

void Engine::tell_sessions(std::span<ClaimedTask> claimed) {
  std::vector<std::string> gates;
  std::vector<ClaimedTask*> whose;
  for (ClaimedTask& item : claimed) {
    if (auto gate = session_gate_of(item.task)) {
      gates.push_back(*std::move(gate));
      whose.push_back(&item);
      // What holds if it cannot be read: the lease is ours already, and telling a session twice does little harm.
      item.session = SessionStart{.preflight_due = true, .bootstrap_due = true};
    }
  }
  if (gates.empty()) return;
  const auto policy = this->policy();
  const auto states = store_.read_gates(gates);
  if (!policy || !states) return;
  for (std::size_t i = 0; i < whose.size(); ++i) {
    const auto name = parse_session_gate(gates[i]);
    const auto record = session_of((*states)[i].record, whose[i]->task.started_at.value_or(Time{}));
    if (!name || !record) continue;
    whose[i]->session = start_in(*record, (*policy)->session(name->name), whose[i]->task);
  }
}

// ---- sweeping

Result<std::string> tidy_sessions(Store& store, const Policy& policy, const std::string& after, int limit) {
  const Time now = TRY(store.now());
  const auto states = TRY(store.gates_from(std::string(kPrefix), after, limit));
  std::vector<StepGroup> groups;
  for (const GateState& state : states) {
    const auto name = parse_session_gate(state.record.name);
    auto record = session_of(state.record, now);
    if (!name || !record) continue;  // for fsck to mend
    std::vector<TaskId> live = TRY(live_tasks(store, *record));
    const bool is_gone = live.empty() && state.use.in_use == 0 && is_over(*record, policy.session(name->name), now);
    if (live.size() == record->tasks.size() && !is_gone) continue;
    record->tasks = std::move(live);
    GateStep step = session_step(state.record, *record);
    if (step.next && is_gone) step.next->session.reset();
    groups.emplace_back().gates.push_back(std::move(step));
  }
  // Somebody who came meanwhile wins.
  if (!groups.empty()) TRY(store.apply(groups));
  return std::cmp_less(states.size(), limit) ? std::string() : states.back().record.name;
}

// ---- fsck

namespace {

class SessionCheck {
 public:
  SessionCheck(Store& store, FsckMode mode) : store_(store), mode_(mode) {}

  Result<std::vector<Finding>> run() {
    TRY(read_tasks());
    TRY(check_records());
    for (const auto& [gate, tasks] : tasks_) {
      if (!seen_.contains(gate)) TRY(mend(GateRecord{.name = gate}, {}, tasks, "is not kept, and has tasks"));
    }
    return std::move(findings_);
  }

 private:
  Status read_tasks() {
    const TaskFilter unfinished{.states = {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                           TaskState::kRunning, TaskState::kStalled},
                                .order = TaskOrder::kOldestFirst};
    std::optional<std::string> cursor;
    do {
      auto page = TRY(store_.list(unfinished, kPageMax, cursor, Parts::kHead));
      for (const TaskRecord& record : page.records) {
        if (const auto gate = session_gate_of(record.task)) tasks_[*gate].push_back(record.task.id);
      }
      cursor = std::move(page.cursor);
    } while (cursor);
    return {};
  }

  Status check_records() {
    std::string after;
    for (;;) {
      const auto states = TRY(store_.gates_from(std::string(kPrefix), after, kSessionsPage));
      for (const GateState& state : states) TRY(check(state.record));
      if (std::cmp_less(states.size(), kSessionsPage)) return {};
      after = states.back().record.name;
    }
  }

  Status check(const GateRecord& gate) {
    seen_.insert(gate.name);
    const std::vector<TaskId>& right = tasks_[gate.name];
    const auto record = session_of(gate, Time{});
    if (!record) return mend(gate, {}, right, "cannot be read");
    const auto is_kept = [&](const TaskId& id) { return std::ranges::find(record->tasks, id) != record->tasks.end(); };
    if (!std::ranges::all_of(right, is_kept)) return mend(gate, *record, right, "does not know all of its tasks");
    return {};
  }

  Status mend(const GateRecord& gate, SessionRecord record, const std::vector<TaskId>& tasks, std::string_view what) {
    Finding finding{.code = "session_wrong", .detail = fmt::format("{} {}", gate.name, what)};
    if (mode_ == FsckMode::kRepair) {
      const Time now = TRY(store_.now());
      if (record.created_at == Time{}) record.created_at = record.last_used_at = now;
      record.tasks = tasks;
      StepGroup group;
      group.gates.push_back(session_step(gate, record));
      const auto applied = TRY(store_.apply(std::span(&group, 1)));
      finding.repaired = applied.front() == Applied::kDone;
    }
    findings_.push_back(std::move(finding));
    return {};
  }

  Store& store_;
  FsckMode mode_;
  std::map<std::string, std::vector<TaskId>> tasks_;
  std::set<std::string> seen_;
  std::vector<Finding> findings_;
};

}  // namespace

Result<std::vector<Finding>> check_sessions(Store& store, FsckMode mode) {
  return SessionCheck(store, mode).run();
}

}  // namespace drover
