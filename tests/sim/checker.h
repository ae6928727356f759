// The history checker: knows what users were told and what agents did, looks at the store from outside, and says which
// promise is broken. Its witnesses are the users and the agents; the event log is itself under test.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "sim/budget_watch.h"
#include "sim/bulk_watch.h"
#include "sim/conversation_watch.h"
#include "sim/life.h"
#include "sim/plan.h"
#include "sim/provider_watch.h"
#include "sim/session_watch.h"
#include "sim/trace.h"
#include "store/store.h"

namespace drover::sim {

// A process of an agent, from its start to its end.
struct AgentRun {
  Lease lease;
  std::string worker;
  int number = 0;
  int run = 0;
  int generation = 1;
  bool unsupervised = false;  // its shim is frozen: nobody can stop it in time
};

// Whether an enqueue's answer may be that of an earlier, equal request.
enum class Replay : std::uint8_t { kImpossible, kPossible };

class Checker {
 public:
  // `slack`: how far the wall clock may move between a decision and its commit.
  Checker(Trace& trace, Millis slack, const Plan& plan)
      : trace_(trace),
        slack_(slack),
        retention_(plan.retention),
        provider_(plan.provider_type, slack),
        budgets_(plan, slack) {}

  [[nodiscard]] const std::optional<Wrong>& wrong() const { return wrong_; }
  void report(std::string check, std::string what);

  // --- what users know
  void expect_task(const TaskPlan& task) { expected_[task.number] = task; }
  void expect_worker(const std::string& id, std::vector<Serve> serves) { workers_[id] = std::move(serves); }
  void acknowledged(int number, const Enqueued& answer, Replay replay);
  // Refused, and no request for it is under way: it must never be seen.
  void refused(int number);
  void cancel_sent(const TaskId& id) { cancels_sent_.insert(id); }
  void cancel_acknowledged(const TaskId& id, const CancelOutcome& outcome);
  void retry_sent(const TaskId& id) { retries_sent_.insert(id); }
  void delete_sent(const TaskId& id) { deletes_sent_.insert(id); }
  void bulk_sent(const std::string& why, BulkVerb verb, const std::string& type) {
    bulk_.sent(why, verb, type, last_seq_);
  }
  void item_acknowledged(const std::string& key) { conversation_.acknowledged(key); }
  void dequeue_asked(int dequeue) { conversation_.asked(dequeue); }
  void dequeue_answered(int dequeue, const std::optional<QueueBatch>& batch) {
    if (const auto wrong = conversation_.answered(dequeue, batch)) fail(*wrong);
  }
  [[nodiscard]] std::optional<TaskId> id_of(int number) const;

  // --- what agents and their workers know
  void started(const AgentRun& run, const Task& task);
  void ended(const Lease& lease);
  void unsupervised(const Lease& lease);
  void settled(const AgentRun& run, const Settlement& sent, const Result<Settled>& answer);
  void told_of_session(const Task& task, const std::optional<SessionStart>& start) {
    if (const auto wrong = sessions_.started(task, start)) fail(*wrong);
  }
  void said_used(const AgentRun& run, const Usage& usage) { budgets_.said(run.lease.task, run.run, usage); }
  void took_usage(const AgentRun& run, const Usage& usage) { budgets_.took(run.lease.task, run.run, usage); }
  void answered(const AgentRun& run) { provider_.answered(run.lease.task, run.run); }
  // The store said at or after `at` that this lease holds for so long from then.
  void vouched(const Lease& lease, Millis at, Millis lease_ms);
  void all_leases_void() { vouched_.clear(); }
  void check_claims_of(Store& store, const std::string& worker);
  void requeue_began(Millis max_age) { requeues_.insert(max_age); }
  void requeue_ended(Millis max_age) { requeues_.erase(requeues_.find(max_age)); }

  // --- the store from outside
  // Reads what is new; call after everything that may have committed. `now` is virtual time.
  void observe(Store& store, Millis now, Time wall);
  // Every row against everything known.
  void scan(Store& store);
  void fsck(Store& store);
  // Once all is quiet: bodies, results, logs, usage.
  void final_check(Store& store);

  [[nodiscard]] int unfinished() const;
  [[nodiscard]] int tasks() const { return static_cast<int>(lives_.size()); }
  [[nodiscard]] std::string describe_unfinished() const;
  // The earliest deadline among unfinished tasks.
  [[nodiscard]] std::optional<Time> next_deadline() const;
  struct Counts {
    int starts = 0;
    int completed = 0;
    int failed = 0;
    int cancelled = 0;
    int stalls = 0;
    int events = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void check_usage(Store& store);
  struct Vouched {
    Millis until{0};
    Millis at{0};
  };

  Life* find(const TaskId& id);
  void fail(const Wrong& wrong) { report(wrong.check, wrong.what); }
  Life* meet(Store& store, const TaskId& id);
  void check_given(const Task& task);
  void take_event(Store& store, const Event& event);
  void check_parents(const Life& life, const Event& event);
  void check_line(const Life& claimed, const Event& event);
  void check_lease_ran_out(const Life& life, const Event& event);
  void check_cause(const Life& life, const Event& event);
  void check_age(const Life& life, const Event& event);
  void check_dependents(const TaskId& parent);
  void take_children(Life& life, const Event& event);
  void compare_rows(Store& store, const std::vector<TaskId>& ids);
  void compare_row(const TaskRecord& row);
  void count(const Event& event);
  [[nodiscard]] int unmet_parents(const Life& life);
  [[nodiscard]] bool is_cancel_sent(const TaskId& id);
  [[nodiscard]] bool interrupts(int number) const;
  [[nodiscard]] bool may_be_superseded(const Life& life) const;

  Trace& trace_;
  const Millis slack_;
  const std::optional<Millis> retention_;  // by age, if that is short enough to be seen
  ProviderWatch provider_;
  SessionWatch sessions_;
  BudgetWatch budgets_;
  std::optional<Wrong> wrong_;
  Millis now_{0};
  Time wall_max_{};

  std::map<int, TaskPlan> expected_;
  std::map<int, TaskId> ids_;
  std::map<TaskId, int> acknowledged_;
  std::set<int> refused_;
  std::set<TaskId> cancels_sent_;
  std::map<TaskId, int> cancelled_for_sure_;  // the generation
  std::set<TaskId> retries_sent_;
  std::set<TaskId> deletes_sent_;
  std::map<std::string, std::vector<Serve>> workers_;
  BulkWatch bulk_;
  ConversationWatch conversation_;

  std::map<TaskId, std::vector<AgentRun>> live_;
  std::map<std::pair<TaskId, int>, int> starts_;  // by task and generation
  std::set<std::pair<TaskId, int>> started_runs_;
  std::set<std::pair<TaskId, int>> overtaken_;  // runs that an operator took back before their worker knew of them
  std::set<std::string> leases_;
  std::set<std::pair<TaskId, int>> settled_runs_;
  std::map<std::pair<TaskId, int>, LeaseId> lease_of_run_;
  std::map<std::string, Vouched> vouched_;  // by lease
  std::multiset<Millis> requeues_;

  std::unordered_map<TaskId, Life> lives_;
  std::vector<TaskId> in_order_;
  std::map<TaskId, Millis> ended_at_;
  std::map<TaskId, std::vector<TaskId>> dependents_;
  std::map<TaskId, std::vector<TaskId>> spawned_;  // since an operator's retry
  std::int64_t last_seq_ = 0;
  std::int64_t tail_ = 0;
  Counts counts_;
};

}  // namespace drover::sim
