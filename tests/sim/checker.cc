#include "sim/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "core/lane.h"
#include "core/ledger.h"
#include "core/run_report.h"

namespace drover::sim {
namespace {

constexpr int kPage = 1'000;

int number_of(const Task& task) {
  const auto payload = task.payload ? json::parse(*task.payload) : Result<json::Value>(json::Value());
  const json::Value* number = payload ? payload->find("n") : nullptr;
  return number != nullptr ? static_cast<int>(number->as_int().value_or(0)) : 0;
}

std::string worker_in(const Event& event) {
  const auto data = json::parse(event.data);
  const json::Value* worker = data ? data->find("worker_id") : nullptr;
  return worker != nullptr && worker->as_string() != nullptr ? *worker->as_string() : std::string();
}

bool serves_task(const std::vector<Serve>& serves, const Task& task) {
  return std::ranges::any_of(serves, [&](const Serve& serve) {
    return serve.queue == task.queue && (!serve.type || *serve.type == task.type);
  });
}

}  // namespace

void Checker::report(std::string check, std::string what) {
  if (wrong_) return;
  trace_.add(now_, "WRONG {}: {}", check, what);
  wrong_ = Wrong{std::move(check), std::move(what)};
}

Life* Checker::find(const TaskId& id) {
  const auto found = lives_.find(id);
  return found == lives_.end() ? nullptr : &found->second;
}

std::optional<TaskId> Checker::id_of(int number) const {
  const auto found = ids_.find(number);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

// --- what users know

void Checker::acknowledged(int number, const Enqueued& answer, Replay replay) {
  const Life* life = find(answer.id);
  if (life == nullptr)
    return report("P1 kept", fmt::format("task {} was acknowledged and is not there", answer.id.to_string()));
  const auto known = ids_.find(number);
  if (known == ids_.end() || known->second != answer.id)
    return report("P2 same task",
                  fmt::format("the answer for task number {} names another task, {}", number, answer.id.to_string()));
  if (answer.deduplicated && replay == Replay::kImpossible)
    return report("P2 same task", fmt::format("the first request for number {} was called a replay", number));
  acknowledged_[answer.id] = number;
}

void Checker::refused(int number) {
  if (ids_.contains(number)) report("P2 same task", fmt::format("task number {} was refused and is there", number));
  refused_.insert(number);
}

void Checker::cancel_acknowledged(const TaskId& id, const CancelOutcome& outcome) {
  const Life* life = find(id);
  if (life == nullptr || life->deleted()) return;
  if (outcome.state == TaskState::kCancelled) {
    // Tried again meanwhile: nothing to hold on to.
    if (life->state() == TaskState::kCancelled) cancelled_for_sure_[id] = life->generation();
    return;
  }
  if (!life->cancel_requested() && !is_terminal(life->state()))
    report("P7 cancel", fmt::format("task {}: the cancel was acknowledged as requested, and is not", id.to_string()));
}

// --- what agents and their workers know

void Checker::started(const AgentRun& run, const Task& task) {
  ++counts_.starts;
  const TaskId& id = run.lease.task;
  Life* life = find(id);
  if (life == nullptr) return report("P1 kept", fmt::format("task {} was started and is not there", id.to_string()));
  if (task.payload != life->given().payload)
    report("T1 payload", fmt::format("task {} started with another payload", id.to_string()));
  for (const AgentRun& other : live_[id]) {
    if (other.unsupervised) continue;
    report("P4 overlap",
           fmt::format("run {} of task {} starts while run {} lives", run.run, id.to_string(), other.run));
  }
  if (!leases_.insert(run.lease.id.to_string()).second)
    report("P3 one lease", fmt::format("lease {} was given twice", run.lease.id.to_string()));
  if (!started_runs_.insert({id, run.run}).second)
    report("P3 one lease", fmt::format("run {} of task {} started twice", run.run, id.to_string()));
  const auto cancelled = cancelled_for_sure_.find(id);
  if (cancelled != cancelled_for_sure_.end() && cancelled->second == run.generation)
    report("P7 cancel",
           fmt::format("run {} of task {} starts after its cancel was acknowledged", run.run, id.to_string()));
  if (++starts_[{id, run.generation}] > 1 && life->given().at_most_once)
    report("P4 at most once", fmt::format("task {} starts again", id.to_string()));
  live_[id].push_back(run);
  if (overtaken_.contains({id, run.run})) unsupervised(run.lease);
}

void Checker::ended(const Lease& lease) {
  std::erase_if(live_[lease.task], [&](const AgentRun& run) { return run.lease == lease; });
}

void Checker::unsupervised(const Lease& lease) {
  for (AgentRun& run : live_[lease.task]) run.unsupervised = run.unsupervised || run.lease == lease;
}

void Checker::settled(const AgentRun& run, const Settlement& sent, const Result<Settled>& answer) {
  const TaskId& id = run.lease.task;
  const Life* life = find(id);
  if (!answer) {
    const bool is_stale = answer.error().code == ErrorCode::kStaleLease && life != nullptr;
    const std::string* end = is_stale ? life->end_of_run(run.run) : nullptr;
    // Nothing but its own result ends a run so.
    if (end != nullptr && *end == "completed" && std::holds_alternative<Completion>(sent.end))
      report("P5 one end",
             fmt::format("run {} of task {} has completed, and its worker was told that its lease is stale", run.run,
                         id.to_string()));
    return;
  }
  if (life == nullptr) return report("P1 kept", fmt::format("task {} was settled and is not there", id.to_string()));
  if (!settled_runs_.insert({id, run.run}).second && !answer->replayed)
    return report("P5 one end", fmt::format("run {} of task {} was settled twice", run.run, id.to_string()));
  const std::string* end = life->end_of_run(run.run);
  if (end == nullptr)
    return report("P5 one end",
                  fmt::format("the end of run {} of task {} was taken and is not there", run.run, id.to_string()));
  if (answer->replayed && *answer->replayed != *end)
    return report("P5 one end",
                  fmt::format("the worker of run {} of task {} was told that it had ended as {}, but it is {}", run.run,
                              id.to_string(), *answer->replayed, *end));
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, *end) != names.end();
  };
  const bool fits = std::holds_alternative<Completion>(sent.end) ? is({"completed", "cancelled"})
                    : std::holds_alternative<Suspend>(sent.end)  ? is({"suspended", "failed", "cancelled"})
                    : std::holds_alternative<Failure>(sent.end)  ? is({"retrying", "deferred", "failed", "cancelled"})
                    : std::holds_alternative<Release>(sent.end)
                        ? is({"released", "cancelled"}) || (life->given().at_most_once && *end == "failed")
                        : is({"cancelled"});
  if (!fits)
    report("P5 one end",
           fmt::format("the end of run {} of task {} was taken, but it is {}", run.run, id.to_string(), *end));
}

void Checker::vouched(const Lease& lease, Millis at, Millis lease_ms) {
  vouched_[lease.id.to_string()] = {at + lease_ms, at};
}

// A worker that asked again for a claim without an answer knows of everything that it holds.
void Checker::check_claims_of(Store& store, const std::string& worker) {
  const auto page =
      store.list({.states = {TaskState::kRunning}, .worker_id = worker}, kPage, std::nullopt, Parts::kHead);
  if (!page) return report("T22 claim keys", to_string(page.error()));
  for (const TaskRecord& record : page->records) {
    if (!vouched_.contains(record.lease.to_string()))
      report("T22 claim keys",
             fmt::format("{} asked again, and was not told that it holds task {}", worker, record.task.id.to_string()));
  }
}

// --- the store from outside

Life* Checker::meet(Store& store, const TaskId& id) {
  auto read = store.read(std::span(&id, 1), Parts::kAll);
  if (!read || !read->front()) {
    report("P12 events", fmt::format("an event tells of task {}, which is not there", id.to_string()));
    return nullptr;
  }
  Task task = std::move(read->front()->task);
  check_given(task);
  const int number = number_of(task);
  const auto known = ids_.find(number);
  // A request id lives as long as its task: once retention has taken that, the request makes a new one.
  if (known != ids_.end() && !find(known->second)->deleted()) {
    report("P2 same task", fmt::format("task number {} was stored twice: {} and {}", number, known->second.to_string(),
                                       id.to_string()));
    return nullptr;
  }
  ids_[number] = id;
  if (refused_.contains(number)) report("P2 same task", fmt::format("task number {} was refused and is there", number));
  for (const TaskId& parent : task.depends_on) dependents_[parent].push_back(id);
  if (task.parent_id) spawned_[*task.parent_id].push_back(id);
  in_order_.push_back(id);
  // Already beyond its first state: what it was given is what counts here.
  return &lives_.emplace(id, Life(std::move(task), number)).first->second;
}

void Checker::check_given(const Task& task) {
  const auto found = expected_.find(number_of(task));
  if (found == expected_.end())
    return report("P1 kept", fmt::format("task {} was never asked for", task.id.to_string()));
  const TaskSpec& spec = found->second.spec;
  const auto wrong = [&](std::string_view field) {
    report("T1 record", fmt::format("{} of task {} is not what was asked for", field, task.id.to_string()));
  };
  if (task.payload != spec.payload) wrong("payload");
  if (task.type != spec.type) wrong("type");
  if (task.queue != spec.queue.value_or(spec.type)) wrong("queue");
  if (task.priority != spec.priority.value_or(5)) wrong("priority");
  if (spec.max_attempts && task.max_attempts != *spec.max_attempts) wrong("max_attempts");
  if (spec.retry && task.retry != *spec.retry) wrong("retry");
  if (task.at_most_once != spec.at_most_once.value_or(false)) wrong("at_most_once");
  if (task.fallback_result != spec.fallback_result) wrong("fallback_result");
  if (task.bootstrap != spec.bootstrap) wrong("bootstrap");
  if (session_in(task) != spec.session) wrong("session");
  if (spec.delay && task.run_at != task.created_at + *spec.delay) wrong("run_at");
}

void Checker::observe(Store& store, Millis now, Time wall) {
  now_ = now;
  wall_max_ = std::max(wall_max_, wall);
  for (;;) {
    const auto events = store.events(last_seq_, kPage);
    if (!events) return report("store", fmt::format("the observer cannot read: {}", to_string(events.error())));
    std::vector<TaskId> touched;
    for (const Event& event : *events) {
      if (event.seq != last_seq_ + 1)
        return report("P12 events", fmt::format("event {} follows event {}", event.seq, last_seq_));
      last_seq_ = event.seq;
      take_event(store, event);
      if (wrong_) return;
      const bool of_a_task = !event.task.is_nil();  // else of a gate
      if (of_a_task && std::ranges::find(touched, event.task) == touched.end()) touched.push_back(event.task);
    }
    compare_rows(store, touched);
    for (const TaskId& id : touched) check_dependents(id);
    if (wrong_) return;
    if (events->size() < kPage) break;
  }
  if (const auto wrong = sessions_.caught_up()) fail(*wrong);
  if (const auto wrong = budgets_.look(store)) fail(*wrong);
}

void Checker::take_event(Store& store, const Event& event) {
  if (const auto wrong = provider_.take(event)) fail(*wrong);
  if (event.task.is_nil()) {
    trace_.add(now_, "  {} {} {}", event.seq, event.name, event.data);
    if (const auto wrong = bulk_.take(event, lives_)) fail(*wrong);
    return;
  }
  Life* life = find(event.task);
  if (life == nullptr) life = meet(store, event.task);
  if (life == nullptr) return;
  trace_.add(now_, "  {} {} #{} run {} -> {} {}", event.seq, event.name, life->number(), event.run,
             name_of(event.state), event.data);
  if (event.name == "task.claimed") check_line(*life, event);
  if (const auto wrong = sessions_.take(event, life->given())) fail(*wrong);
  if (event.name == "task.enqueued" && interrupts(life->number())) sessions_.interrupted_by(life->given());
  if (const auto wrong = budgets_.take(event, life->given())) fail(*wrong);
  if (const auto wrong = bulk_.take(event, *life)) fail(*wrong);
  check_cause(*life, event);
  check_age(*life, event);
  check_lease_ran_out(*life, event);
  if (const auto wrong = life->apply(event, ++tail_, wall_max_))
    fail({wrong->check, fmt::format("task {} (number {}): {}", event.task.to_string(), life->number(), wrong->what)});
  take_children(*life, event);
  check_parents(*life, event);
  count(event);
}

// Simulated agents wait for all their children. A retry begins anew: those from before do not count.
void Checker::take_children(Life& life, const Event& event) {
  if (event.name == "task.retried") {
    for (const TaskId& child : spawned_[event.task]) std::erase(dependents_[child], event.task);
    spawned_.erase(event.task);
  }
  if (event.name != "task.suspended") return;
  for (const TaskId& child : spawned_[event.task]) {
    if (!find(child)->deleted() && life.await(child)) dependents_[child].push_back(event.task);
  }
}

void Checker::count(const Event& event) {
  ++counts_.events;
  if (event.name == "task.completed") ++counts_.completed;
  if (event.name == "task.failed") ++counts_.failed;
  if (event.name == "task.cancelled") ++counts_.cancelled;
  if (event.name == "task.stalled") ++counts_.stalls;
}

int Checker::unmet_parents(const Life& life) {
  int unmet = 0;
  for (const TaskId& id : life.parents()) {
    const Life* parent = find(id);
    // One that retention took had ended: nobody waits for it.
    if (parent != nullptr && !parent->deleted() && !parent->is_done_for(life.given().on_parent_failure)) ++unmet;
  }
  return unmet;
}

// What left the blocked state, or never was in it, has no parent to wait for.
void Checker::check_parents(const Life& life, const Event& event) {
  const bool free = event.state == TaskState::kPending || event.state == TaskState::kScheduled;
  const bool just_freed = event.name == "task.enqueued" || event.name == "task.unblocked" ||
                          event.name == "task.retried" || event.name == "task.suspended";
  if (free && just_freed && unmet_parents(life) > 0)
    report("P10 parents", fmt::format("{} of task {} while a parent is not done", event.name, event.task.to_string()));
}

// A claimed task must be one that its worker serves, and the first of its lane. Which lane goes first is a longer story
// (docs/internals/lanes-and-gates.md); the model of lanes and the differential test hold the stores to it.
void Checker::check_line(const Life& claimed, const Event& event) {
  const auto worker = workers_.find(worker_in(event));
  if (worker == workers_.end())
    return report("P3 one lease", fmt::format("task {} was claimed by nobody: {}", event.task.to_string(), event.data));
  if (!serves_task(worker->second, claimed.given()))
    return report("W2 claim", fmt::format("task {} went to a worker that does not serve it", event.task.to_string()));
  const std::string lane = lane_name(claimed.given());
  for (const TaskId& id : in_order_) {
    const Life& other = *find(id);
    if (!is_claimable(other.state()) || other.place() >= claimed.place() || lane_name(other.given()) != lane) continue;
    return report("T3 order", fmt::format("number {} (place {}) was claimed before number {} (place {}) of its lane {}",
                                          claimed.number(), claimed.place(), other.number(), other.place(), lane));
  }
}

void Checker::check_lease_ran_out(const Life& life, const Event& event) {
  const bool by_lease = event.name == "task.stalled" ||
                        (event.name == "task.failed" && event.data.find(R"("class":"stalled")") != std::string::npos);
  if (!by_lease) return;
  const auto lease = lease_of_run_.find({event.task, life.run()});
  if (lease == lease_of_run_.end()) return;  // its claim's answer was lost: nobody relies on it
  const auto vouched = vouched_.find(lease->second.to_string());
  if (vouched == vouched_.end()) {
    // An operator was faster than the claim's answer: its worker may start what it learns with its next beat not to be
    // its own.
    if (!requeues_.empty()) overtaken_.insert({event.task, life.run()});
    return;
  }
  if (now_ >= vouched->second.until) return;
  for (const Millis max_age : requeues_) {
    if (now_ < vouched->second.at + max_age) continue;
    // The operator took it from a worker that lives: it learns so with its next beat, and its agent may overlap till
    // then.
    return unsupervised({event.task, lease->second});
  }
  report("P3 lease kept", fmt::format("the lease of task {} was taken back {} ms early", event.task.to_string(),
                                      (vouched->second.until - now_).count()));
}

// Whatever the wall clock shows, what has ended is kept for as long as it should be. By number and size nothing goes
// here.
void Checker::check_age(const Life& life, const Event& event) {
  constexpr Millis kSeenLate{10'000};
  if (is_terminal(event.state) && !is_terminal(life.state())) ended_at_[event.task] = now_;
  if (event.name != "task.deleted" || event.data != "{}") return;
  for (const TaskId& id : dependents_[event.task]) {
    const Life& dependent = *find(id);
    if (dependent.deleted() || is_terminal(dependent.state())) continue;
    return report("T21 results",
                  fmt::format("task {} was deleted, and {} depends on it", event.task.to_string(), id.to_string()));
  }
  const Millis age = now_ - ended_at_[event.task];
  if (!retention_ || age >= *retention_ - kSeenLate) return;
  report("P1 kept", fmt::format("task {} was deleted {} ms after its end", event.task.to_string(), age.count()));
}

// Cancels, retries and deletions do not happen by themselves; what retention deletes is said by nobody.
bool Checker::is_cancel_sent(const TaskId& id) {
  const Life* life = find(id);
  return cancels_sent_.contains(id) || (life != nullptr && bulk_.may_have(BulkVerb::kCancel, *life));
}

bool Checker::interrupts(int number) const {
  const auto asked_for = expected_.find(number);
  return asked_for != expected_.end() && asked_for->second.spec.busy == BusyRule::kInterrupt;
}

// Whether another task, which may be told of only later, interrupts its session.
bool Checker::may_be_superseded(const Life& life) const {
  const auto session = session_in(life.given());
  return session && std::ranges::any_of(expected_, [&](const auto& one) {
           const TaskSpec& spec = one.second.spec;
           return one.first != life.number() && spec.session == session && spec.busy == BusyRule::kInterrupt;
         });
}

void Checker::check_cause(const Life& life, const Event& event) {
  const bool is_retry_sent = retries_sent_.contains(event.task) || bulk_.may_have(BulkVerb::kRetry, life);
  if (event.name == "task.retried" && !is_retry_sent)
    return report("P5 one end", fmt::format("task {} was retried by nobody", event.task.to_string()));
  if (event.name == "task.deleted" && event.data != "{}" && !deletes_sent_.contains(event.task))
    return report("P1 kept", fmt::format("task {} was deleted by nobody", event.task.to_string()));
  if (event.name != "task.cancelled" && event.name != "task.cancel_requested") return;
  if (is_cancel_sent(event.task) || life.cancel_requested() || may_be_superseded(life)) return;
  for (const TaskId& id : life.parents()) {
    const Life* parent = find(id);
    if (parent != nullptr && is_terminal(parent->state()) && parent->state() != TaskState::kCompleted) return;
  }
  // Within one step the cause may be told after the effect: parents and spawners that end in the same commit.
  for (const TaskId& id : life.parents()) {
    const Life* parent = find(id);
    if (is_cancel_sent(id) || (parent != nullptr && may_be_superseded(*parent))) return;
  }
  for (std::optional<TaskId> above = life.given().parent_id; above;) {
    const Life* spawner = find(*above);
    if (spawner == nullptr || is_cancel_sent(*above) || may_be_superseded(*spawner) || spawner->cancel_requested() ||
        spawner->state() == TaskState::kCancelled)
      return;
    above = spawner->given().parent_id;
  }
  report("P7 cancel", fmt::format("{} of task {} without a cause", event.name, event.task.to_string()));
}

// Released or ended in the same step as the last parent, never later.
void Checker::check_dependents(const TaskId& parent) {
  const auto found = dependents_.find(parent);
  const Life* life = find(parent);
  if (found == dependents_.end() || life == nullptr || !is_terminal(life->state())) return;
  for (const TaskId& id : found->second) {
    const Life& dependent = *find(id);
    if (dependent.state() != TaskState::kBlocked) continue;
    const bool ends_it =
        life->state() != TaskState::kCompleted && dependent.given().on_parent_failure != OnParentFailure::kRun;
    if (ends_it)
      return report("P10 parents", fmt::format("task {} is blocked for ever: its parent {} has ended", id.to_string(),
                                               parent.to_string()));
    if (unmet_parents(dependent) + dependent.open_questions() == 0)
      return report("P10 parents", fmt::format("task {} is blocked though its parents are done", id.to_string()));
  }
}

void Checker::compare_rows(Store& store, const std::vector<TaskId>& ids) {
  if (ids.empty()) return;
  const auto rows = store.read(ids, Parts::kHead);
  if (!rows) return report("store", fmt::format("the observer cannot read: {}", to_string(rows.error())));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Life* life = find(ids[i]);
    const bool gone = !(*rows)[i];
    if (gone != life->deleted())
      return report("P1 kept", fmt::format("task {} is {}", ids[i].to_string(), gone ? "gone" : "still there"));
    if (!gone) compare_row(*(*rows)[i]);
  }
}

void Checker::compare_row(const TaskRecord& row) {
  Life* life = find(row.task.id);
  if (life == nullptr)
    return report("P12 row and events", fmt::format("task {} is there without an event", row.task.id.to_string()));
  if (const auto wrong = life->compare(row, slack_)) return fail(*wrong);
  if (row.task.state == TaskState::kRunning) lease_of_run_[{row.task.id, row.task.run}] = row.lease;
  const int waits_for = unmet_parents(*life) + life->open_questions();
  if (row.task.state == TaskState::kBlocked && row.unmet_parents != waits_for)
    report("P8 counts", fmt::format("task {} waits for {} parents and answers, not {}", row.task.id.to_string(),
                                    waits_for, row.unmet_parents));
}

void Checker::scan(Store& store) {
  int rows = 0;
  std::optional<std::string> cursor;
  std::set<std::pair<std::string, std::string>> requests;
  do {
    const auto page = store.list({}, kPage, cursor, Parts::kAll);
    if (!page) return report("store", fmt::format("the observer cannot read: {}", to_string(page.error())));
    for (const TaskRecord& row : page->records) {
      compare_row(row);
      const Task& task = row.task;
      if (task.request_id && !requests.insert({task.owner, *task.request_id}).second)
        report("P2 same task", fmt::format("two tasks have request id {}", *task.request_id));
    }
    rows += static_cast<int>(page->records.size());
    cursor = page->cursor;
  } while (cursor && !wrong_);
  const auto expected = std::ranges::count_if(lives_, [](const auto& entry) { return !entry.second.deleted(); });
  if (!wrong_ && rows != expected) report("P1 kept", fmt::format("{} rows, but {} tasks are known", rows, expected));
}

void Checker::fsck(Store& store) {
  const auto findings = store.fsck(FsckMode::kCheck);
  if (!findings) return report("store", fmt::format("fsck: {}", to_string(findings.error())));
  if (!findings->empty()) report("P8 fsck", fmt::format("{}: {}", findings->front().code, findings->front().detail));
}

// What a task used is what its runs used, and the ledger has it once.
void Checker::check_usage(Store& store) {
  constexpr int kRunsMax = 1'000'000;
  Usage all;
  std::int64_t runs_that_said = 0;
  for (const TaskId& id : in_order_) {
    if (find(id)->deleted()) return;  // the ledger has more than the tasks that are left
    const auto read = store.read(std::span(&id, 1), Parts::kHead);
    const auto runs = store.runs(id, kRunsMax);
    if (!read || !read->front() || !runs) return;
    Usage sum;
    for (const RunSummary& run : *runs) {
      sum = sum + usage_of(run.usage);
      if (run.usage && run.ended_at) ++runs_that_said;
    }
    const Usage total = usage_of(read->front()->task.usage);
    if (total != sum)
      return report("T20 usage", fmt::format("task {} used {}, its runs {}", id.to_string(), total.tokens.output,
                                             sum.tokens.output));
    all = all + total;
  }
  UsageAmounts booked;
  const auto days = store.ledger_days();
  if (!days) return;
  for (const std::string& day : *days) {
    const auto entries = store.ledger(day);
    if (!entries) return;
    for (const LedgerEntry& entry : *entries) add(booked, entry.amounts);
  }
  if (booked.tokens != all.tokens || booked.turns != all.turns || booked.runs != runs_that_said)
    report("T20 usage", fmt::format("the ledger has {} tokens of {} runs, the tasks {} of {}", booked.tokens.output,
                                    booked.runs, all.tokens.output, runs_that_said));
}

void Checker::final_check(Store& store) {
  if (const auto wrong = conversation_.check_rest(store)) fail(*wrong);
  if (const auto wrong = budgets_.check_rest(store)) fail(*wrong);
  check_usage(store);
  for (const TaskId& id : in_order_) {
    const Life& life = *find(id);
    if (life.deleted()) continue;
    const auto read = store.read(std::span(&id, 1), Parts::kAll);
    if (!read || !read->front()) return report("P1 kept", fmt::format("task {} is gone", id.to_string()));
    const Task& task = read->front()->task;
    if (task.payload != life.given().payload)
      report("T1 payload", fmt::format("the payload of task {} has changed", id.to_string()));
    if (task.state != TaskState::kCompleted) continue;
    const JsonText expected = task.fallback ? *life.given().fallback_result : fmt::format(R"({{"run":{}}})", task.run);
    if (task.result != expected)
      report("P5 result", fmt::format("the result of task {} is {}, expected {}", id.to_string(),
                                      task.result.value_or("unset"), expected));
  }
}

int Checker::unfinished() const {
  return bulk_.running() + static_cast<int>(std::ranges::count_if(lives_, [](const auto& entry) {
           return !entry.second.deleted() && !is_terminal(entry.second.state());
         }));
}

std::string Checker::describe_unfinished() const {
  std::string text;
  if (bulk_.running() > 0) text += fmt::format(" {} bulk operations", bulk_.running());
  for (const TaskId& id : in_order_) {
    const Life& life = lives_.at(id);
    if (!life.deleted() && !is_terminal(life.state()))
      text += fmt::format(" number {} is {} (run {});", life.number(), name_of(life.state()), life.run());
  }
  return text;
}

std::optional<Time> Checker::next_deadline() const {
  std::optional<Time> next;
  for (const auto& [_, life] : lives_) {
    if (is_terminal(life.state()) || life.deleted() || !life.deadline_at()) continue;
    next = next ? std::min(*next, *life.deadline_at()) : *life.deadline_at();
  }
  return next;
}

}  // namespace drover::sim
