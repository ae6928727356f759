#include "store/sqlite/gates.h"

#include <algorithm>
#include <set>

#include "core/gate_name.h"
#include "core/lane.h"
#include "embedded/sqlite.h"
#include "store/sqlite/lanes.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kDue = named_sql(embedded::gates_sql, "due");
constexpr std::string_view kShown = named_sql(embedded::gates_sql, "shown");
constexpr std::string_view kOwners = named_sql(embedded::gates_sql, "owners");
constexpr std::string_view kCountRunning = named_sql(embedded::gates_sql, "count_running");
constexpr std::string_view kInUse = named_sql(embedded::gates_sql, "in_use");
constexpr std::string_view kLeastCost = named_sql(embedded::lanes_sql, "least_cost");
constexpr std::string_view kWaitingTypes = named_sql(embedded::lanes_sql, "waiting_types");
constexpr std::string_view kWaitingLanes = named_sql(embedded::lanes_sql, "waiting_lanes");

constexpr std::string_view kForgetPeriods = named_sql(embedded::spend_sql, "forget_periods_of");
constexpr std::string_view kForgetPeriodsOfOwners = named_sql(embedded::spend_sql, "forget_periods_of_owners");

constexpr int kRefusalsMax = 64;  // in a row, at one gate

std::vector<std::string> names_of(Statement& query) {
  std::vector<std::string> names;
  while (query.step()) names.push_back(query.text());
  return names;
}

// Looked at by the next claim, whatever it is for.
void look_now(Transaction& transaction, Gate& gate) {
  if (!is_waited_at(transaction.db(), gate.name())) return;
  gate.wake_at = transaction.now();
  transaction.gates().changed(gate);
}

// ---- setting

// What was counted under the limits `before` may not be what these limits count.
void adjust_use(Connection& db, Gate& gate, const GateLimits& before) {
  const bool counts_otherwise = !before.permits || before.counted_from != gate.limits.counted_from;
  if (!gate.limits.permits || counts_otherwise) gate.use.in_use = count_in_use(db, gate);
  if (gate.limits.interval_us == 0) gate.use.rate_at_us = 0;
}

// Whether the same runs have the same amounts set aside.
bool sets_aside_alike(const GateLimits& a, const GateLimits& b) {
  const auto units = [](const GateLimits& limits) {
    std::set<BudgetUnit> found;
    for (const BudgetLimit& budget : limits.budgets) found.insert(budget.unit);
    return found;
  };
  return a.per_run == b.per_run && units(a) == units(b);
}

// Nobody asks for what was spent in a period that is over; the ledger has it.
void forget_periods(Connection& db, const Gate& gate) {
  for (const BudgetLimit& budget : gate.limits.budgets) {
    if (!budget.resets_at) continue;
    if (gate.name() == kOtherOwnersGate) {
      db.run(kForgetPeriodsOfOwners, name_of(budget.unit), budget.period);
    } else {
      db.run(kForgetPeriods, gate.name(), name_of(budget.unit), budget.period);
    }
  }
}

void adjust_budgets(Transaction& transaction, Gate& gate, const GateLimits& before) {
  GateRows& gates = transaction.gates();
  if (before.budgets == gate.limits.budgets && before.per_run == gate.limits.per_run) return;
  gate.has_spent = false;
  if (!gate.limits.budgets.empty()) {
    gates.read_spend(gate);
    forget_periods(transaction.db(), gate);
  }
  if (!sets_aside_alike(before, gate.limits)) recount_asides(transaction);
}

// Every owner without a gate of its own obeys this one.
void adjust_other_owners(Transaction& transaction) {
  GateRows& gates = transaction.gates();
  gates.flush();
  gates.clear();
  std::vector<std::string> names;
  {
    Statement query = transaction.db().prepare(kOwners);
    names = names_of(query);
  }
  for (const std::string& name : names) {
    Gate& gate = gates.get(name);
    if (gate.record.revision != 0) continue;
    adjust_use(transaction.db(), gate, GateLimits());
    gates.changed(gate);
    look_now(transaction, gate);
  }
}

// ---- waking

// One round over the lanes that wait at one gate.
class Round {
 public:
  Round(Transaction& transaction, Gate& gate) : transaction_(transaction), gate_(gate), use_(gate.use) {}

  // Lets at most so many lanes go. Returns how many.
  int run(int lanes_max);

 private:
  [[nodiscard]] std::optional<std::string> next_queue();
  [[nodiscard]] bool is_refused_at_any_cost() const;
  [[nodiscard]] BudgetAmounts per_run_of(const Lane& lane);
  void let_go(Lane& lane);
  void refuse(const std::string& queue, std::optional<Time> look_again);
  void set_wake_at();

  Transaction& transaction_;
  Gate& gate_;
  GateUse use_;  // as if what was let go had started already
  int woken_ = 0;
  std::set<std::string> refused_;  // queues, since a lane was let go
  std::optional<Time> look_again_;
};

int Round::run(int lanes_max) {
  while (woken_ < lanes_max && std::cmp_less(refused_.size(), kRefusalsMax)) {
    const std::optional<std::string> queue = next_queue();
    if (!queue || refused_.contains(*queue)) break;
    gate_.cursor = *queue;
    std::optional<Lane> lane = first_lane(transaction_.db(), {.queue = *queue, .gate = gate_.name()});
    if (!lane) break;  // for fsck to mend
    const GateVerdict verdict = ask_gate(gate_.limits, use_, lane->like.cost, transaction_.now(), per_run_of(*lane));
    if (verdict.room > 0) {
      let_go(*lane);
      continue;
    }
    refuse(*queue, verdict.look_again);
    if (is_refused_at_any_cost()) break;
  }
  set_wake_at();
  return woken_;
}

// Round and round, in the order of their names.
std::optional<std::string> Round::next_queue() {
  const std::optional<std::string> next = next_queue_waiting(transaction_.db(), gate_.name(), gate_.cursor);
  return next ? next : next_queue_waiting(transaction_.db(), gate_.name(), "");
}

BudgetAmounts Round::per_run_of(const Lane& lane) {
  if (gate_.limits.budgets.empty()) return {};
  return transaction_.gates().get(gate_name(GateKind::kType, lane.like.type)).limits.per_run;
}

bool Round::is_refused_at_any_cost() const {
  GateLimits limits = gate_.limits;
  limits.interval_us = 0;
  limits.budgets.clear();
  return ask_gate(limits, use_, 1, transaction_.now()).room == 0;
}

void Round::let_go(Lane& lane) {
  wake_lane(transaction_, lane);
  use_ = use_gate(gate_.limits, use_, lane.like.cost, 1, transaction_.now(), per_run_of(lane));
  refused_.clear();
  ++woken_;
}

void Round::refuse(const std::string& queue, std::optional<Time> look_again) {
  refused_.insert(queue);
  if (look_again) look_again_ = std::min(look_again_.value_or(*look_again), *look_again);
}

// A woken lane may not use its permit, so the next call must let the next one go.
void Round::set_wake_at() {
  if (is_waited_at(transaction_.db(), gate_.name())) {
    const bool goes_on = woken_ > 0 || std::cmp_greater_equal(refused_.size(), kRefusalsMax);
    gate_.wake_at = goes_on ? std::optional(transaction_.now()) : look_again_;
  } else {
    gate_.wake_at.reset();
    gate_.cursor.clear();
  }
  transaction_.gates().changed(gate_);
}

GateState read_gate_state(Connection& db, GateRows& rows, const std::string& name) {
  const Gate& gate = rows.get(name);
  return {gate.record, gate.use, db.number(kWaitingLanes, name)};
}

}  // namespace

bool still_holds(Transaction& transaction, const GateStep& step) {
  return transaction.gates().get(step.name).record.revision == step.expected_revision;
}

void write_gate(Transaction& transaction, const GateStep& step) {
  if (step.next) {
    Gate& gate = transaction.gates().get(step.name);
    const GateLimits before = gate.limits;
    if (!before.budgets.empty()) transaction.gates().flush();  // by the periods that they belong to
    gate.record = is_default(*step.next) ? GateRecord() : *step.next;
    gate.record.name = step.name;
    gate.record.revision = is_default(*step.next) ? 0 : transaction.next_gate_revision();
    gate.limits = transaction.gates().limits_in_force(gate.record);
    adjust_use(transaction.db(), gate, before);
    transaction.gates().changed(gate);
    look_now(transaction, gate);
    if (step.name == kOtherOwnersGate) {
      adjust_other_owners(transaction);
      Gate& others = transaction.gates().get(step.name);
      adjust_budgets(transaction, others, before);
    } else {
      adjust_budgets(transaction, gate, before);
    }
  }
  for (const EventDraft& event : step.events) transaction.add_event(Task(), event.name, event.data);
}

void give_back_permits(Transaction& transaction, const Task& task, Time started_at,
                       const std::optional<SpendChange>& spend) {
  bool is_budgeted = false;
  for (Gate* gate : transaction.gates().of(task)) {
    is_budgeted = is_budgeted || !gate->limits.budgets.empty();
    if (!gate->limits.permits || started_at < gate->limits.counted_from) continue;
    gate->use.in_use = std::max<std::int64_t>(0, gate->use.in_use - 1);
    transaction.gates().changed(*gate);
    look_now(transaction, *gate);
  }
  if (!is_budgeted) return;
  book_spend(transaction, task, spend.value_or(SpendChange{.ends = true}));
  for (Gate* gate : transaction.gates().of(task)) {
    if (!gate->limits.budgets.empty()) look_now(transaction, *gate);
  }
}

int wake_gates(Transaction& transaction) {
  transaction.gates().flush();
  std::vector<std::string> due;
  {
    Statement query = transaction.db().prepare(kDue);
    query.bind(transaction.now(), kWakesMax);
    due = names_of(query);
  }
  int woken = 0;
  for (const std::string& name : due) {
    if (woken == kWakesMax) break;
    woken += Round(transaction, transaction.gates().get(name)).run(kWakesMax - woken);
  }
  transaction.meter().lanes_woken += woken;
  return woken;
}

bool is_any_gate_due(Connection& db, Time now) {
  Statement query = db.prepare(kDue);
  return query.bind(now, 1).step();
}

std::vector<GateState> read_gate_states(Connection& db, std::span<const std::string> names) {
  GateRows rows(db);
  std::vector<GateState> states;
  for (const std::string& name : names) states.push_back(read_gate_state(db, rows, name));
  return states;
}

std::vector<GateState> read_gate_states(Connection& db) {
  std::vector<std::string> names;
  {
    Statement query = db.prepare(kShown);
    names = names_of(query);
  }
  return read_gate_states(db, names);
}

std::vector<std::string> gates_in_use(Connection& db) {
  Statement query = db.prepare(kInUse);
  return names_of(query);
}

std::int64_t count_in_use(Connection& db, const Gate& gate) {
  return gate.limits.permits ? db.number(kCountRunning, gate.name(), gate.limits.counted_from) : 0;
}

bool is_asleep(Connection& db, GateRows& gates, const Gate& gate, Time now) {
  const std::int64_t cost = db.number(kLeastCost, gate.name());
  if (gate.wake_at || cost == 0) return false;
  BudgetAmounts per_run{};
  if (!gate.limits.budgets.empty()) {
    Statement query = db.prepare(kWaitingTypes);
    query.bind(gate.name());
    bool is_first = true;
    for (const std::string& type : names_of(query)) {
      const BudgetAmounts one = gates.get(gate_name(GateKind::kType, type)).limits.per_run;
      for (std::size_t i = 0; i < per_run.size(); ++i) per_run[i] = is_first ? one[i] : std::min(per_run[i], one[i]);
      is_first = false;
    }
  }
  const GateVerdict verdict = ask_gate(gate.limits, gate.use, cost, now, per_run);
  return verdict.room > 0 || verdict.look_again;
}

}  // namespace drover::sqlite
