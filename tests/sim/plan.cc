#include "sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/json.h"

namespace drover::sim {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

enum Part : std::uint64_t {
  kTopology = 1,
  kWork,
  kFaultDraws,
  kAgentMix,
  kBehaviours,
  kVerdicts,
  kEdits,
  kBulks,
  kProvider,
  kSessions,
  kConversation,
  kInterrupts,
  kBudgets,
  kSpendings
};

const std::vector<std::string> kTypes{"alpha", "beta", "gamma"};
constexpr std::array<std::string_view, Fault::kKinds> kFaultNames{"kill",
                                                                  "kill_at_failpoint",
                                                                  "kill_at_disk_op",
                                                                  "freeze_worker",
                                                                  "freeze_with_shims",
                                                                  "freeze_at_failpoint",
                                                                  "power_cut",
                                                                  "power_cut_at_disk_op",
                                                                  "store_fails",
                                                                  "store_forgets_answer",
                                                                  "store_slow",
                                                                  "clock_jump",
                                                                  "disk_full",
                                                                  "disk_error",
                                                                  "sync_error",
                                                                  "settle_twice",
                                                                  "drain"};

WorkerPlan draw_worker(Rng& rng, bool serves_all) {
  WorkerPlan worker;
  worker.capacity = between(rng, 1, 4);
  worker.lease = pick(rng, std::vector<Millis>{6s, 15s, 30s});
  for (const std::string& type : kTypes) {
    if (serves_all || chance(rng, 60)) worker.serves.push_back({type, std::nullopt});
  }
  // One type only, in the queue where others wait too.
  if (!serves_all && chance(rng, 30)) worker.serves = {{"shared", kTypes[rng.below(kTypes.size())]}};
  if (serves_all) worker.serves.push_back({"shared", std::nullopt});
  if (worker.serves.empty()) worker.serves.push_back({kTypes.front(), std::nullopt});
  return worker;
}

void draw_topology(Rng& rng, Plan& plan) {
  plan.servers = between(rng, 1, 3);
  const int workers = between(rng, 1, 5);
  for (int i = 0; i < workers; ++i) plan.workers.push_back(draw_worker(rng, i == 0));
  plan.interleave_percent = pick(rng, std::vector<int>{0, 2, 5, 15});
  if (chance(rng, 10)) {
    plan.retention = 60s;
  }
}

void draw_agents(Rng& rng, Plan& plan) {
  AgentMix& mix = plan.agents;
  const auto percent = [&](int likely, int max) { return chance(rng, likely) ? between(rng, 1, max) : 0; };
  mix.fail = percent(80, 40);
  mix.fail_for_good = percent(60, 10);
  mix.crash = percent(60, 10);
  mix.rate_limited = percent(60, 15);
  mix.hang = percent(50, 8);
  mix.ignore_term = percent(50, 50);
  mix.talk = percent(70, 30);
  mix.spawn = percent(50, 25);
  mix.takes_max = pick(rng, std::vector<Millis>{1s, 5s, 20s});
}

RetryPolicy draw_retry(Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return {.kind = RetryPolicy::Kind::kLinear, .base = between(rng, 50ms, 1000ms)};
    case 1:
      return {.kind = RetryPolicy::Kind::kFixed, .base = between(rng, 0ms, 3000ms)};
    case 2:
      return {.kind = RetryPolicy::Kind::kList, .delays = {500ms, 0ms, 2000ms}};
    default:
      return {
          .kind = RetryPolicy::Kind::kExponential, .base = between(rng, 200ms, 2000ms), .multiplier = 2, .cap = 30s};
  }
}

void draw_limits(Rng& rng, TaskSpec& spec) {
  spec.max_attempts = between(rng, 1, 5);
  spec.max_stalls = between(rng, 0, 4);
  spec.max_defers = between(rng, 0, 3);
  spec.retry = draw_retry(rng);
  spec.timeout = between(rng, 5s, 40s);
  if (chance(rng, 20)) spec.delay = between(rng, 0ms, 60s);
  if (chance(rng, 15)) {
    spec.deadline = between(rng, 2s, 90s);
    if (chance(rng, 50)) spec.fallback_result = R"({"fallback":true})";
  }
  if (chance(rng, 10)) spec.at_most_once = true;
}

TaskPlan draw_task(Rng& rng, int number, int first_of_batch) {
  TaskPlan task;
  task.number = number;
  TaskSpec& spec = task.spec;
  spec.type = pick(rng, kTypes);
  if (chance(rng, 25)) spec.queue = "shared";
  if (chance(rng, 30)) spec.owner = "team";
  if (chance(rng, 50)) spec.priority = pick(rng, std::vector<int>{2, 5, 8});
  spec.payload = fmt::format(R"({{"n":{}}})", number);
  draw_limits(rng, spec);
  task.chooses_id = chance(rng, 25);
  task.chooses_request_id = chance(rng, 70);
  const int parents = chance(rng, 30) ? between(rng, 1, 3) : 0;
  for (int i = 0; i < parents && number > 1; ++i) {
    const bool inside = number > first_of_batch && chance(rng, 70);
    const int low = inside ? first_of_batch : std::max(1, number - 30);
    const int parent = between(rng, low, number - 1);
    if (std::ranges::find(task.parents, parent) == task.parents.end()) task.parents.push_back(parent);
  }
  static const std::vector<OnParentFailure> policies{OnParentFailure::kCancel, OnParentFailure::kFail,
                                                     OnParentFailure::kRun};
  // One that is given no parents may come to wait for its children.
  spec.on_parent_failure = task.parents.empty() ? policies[static_cast<std::size_t>(number) % 3] : pick(rng, policies);
  spec.max_suspends = number % 4;
  return task;
}

Operation draw_enqueue(Rng& rng, int& last_number) {
  Operation operation;
  const int size = chance(rng, 60) ? 1 : between(rng, 2, 7);
  const int first = last_number + 1;
  for (int i = 0; i < size; ++i) operation.tasks.push_back(draw_task(rng, ++last_number, first));
  // A request that is sent again as a whole needs an id for each of its tasks.
  const bool safe = operation.tasks.front().chooses_request_id;
  for (TaskPlan& task : operation.tasks) task.chooses_request_id = safe;
  operation.replays = safe && chance(rng, 15);
  return operation;
}

void draw_work(Rng& rng, Plan& plan) {
  const int operations = between(rng, 25, 60);
  const bool in_bursts = chance(rng, 40);
  int last_number = 0;
  Millis at{0};
  for (int i = 0; i < operations; ++i) {
    const Millis mean = plan.lasts * 9 / 10 / operations;
    at = in_bursts && i % 10 != 0 ? at + between(rng, 0ms, 200ms)
                                  : std::max(at, plan.lasts * 9 / 10 * i / operations) + between(rng, 0ms, mean);
    Operation operation;
    const auto draw = static_cast<int>(rng.below(100));
    if (last_number == 0 || draw < 68) {
      operation = draw_enqueue(rng, last_number);
    } else if (draw < 96) {
      operation.kind = draw < 84 ? Operation::Kind::kCancel : Operation::Kind::kRetry;
      operation.target = between(rng, std::max(1, last_number - 25), last_number);
    } else {
      operation.kind = Operation::Kind::kRequeueStalled;
      operation.max_age = between(rng, 1s, 20s);
    }
    operation.at = at;
    operation.server = static_cast<int>(rng.below(3));
    plan.operations.push_back(std::move(operation));
  }
}

int last_number_of(const Plan& plan) {
  int last_number = 0;
  for (const Operation& operation : plan.operations) {
    for (const TaskPlan& task : operation.tasks) last_number = std::max(last_number, task.number);
  }
  return last_number;
}

// In half of the plans: what operators decide on tasks that have ended, if they have.
void draw_verdicts(Rng& rng, Plan& plan) {
  using enum Operation::Kind;
  constexpr std::array kKinds{kRetry, kEscalate, kEscalate, kDelete};
  const int last_number = last_number_of(plan);
  if (last_number == 0 || !chance(rng, 50)) return;
  const int verdicts = between(rng, 5, 20);
  for (int i = 0; i < verdicts; ++i) {
    Operation operation{.kind = kKinds[rng.below(kKinds.size())]};
    operation.at = between(rng, 0ms, plan.lasts * 9 / 10);
    operation.server = static_cast<int>(rng.below(3));
    operation.target = between(rng, 1, last_number);
    operation.wait = between(rng, 0ms, 60s);
    plan.operations.push_back(std::move(operation));
  }
}

// In a third of the plans: what is changed of tasks that wait, if they do. Most are of tasks that were made just
// before.
void draw_edits(Rng& rng, Plan& plan) {
  if (last_number_of(plan) == 0 || !chance(rng, 33)) return;
  std::vector<Operation> edits;
  for (const Operation& made : plan.operations) {
    for (const TaskPlan& task : made.tasks) {
      if (!chance(rng, 25)) continue;
      Operation operation{.kind = Operation::Kind::kEdit};
      operation.at = made.at + (chance(rng, 70) ? between(rng, 1ms, 2s) : between(rng, 1s, 60s));
      operation.server = static_cast<int>(rng.below(3));
      operation.target = task.number;
      operation.wait = chance(rng, 50) ? Millis{0} : between(rng, 1ms, 60s);
      operation.priority = between(rng, 0, kPriorityMax + 5);  // beyond the last one: it stays
      edits.push_back(std::move(operation));
    }
  }
  std::ranges::move(edits, std::back_inserter(plan.operations));
}

// In a third of the plans: all tasks of a type are cancelled, or those that ended badly are retried.
void draw_bulks(Rng& rng, Plan& plan) {
  if (!chance(rng, 33)) return;
  const int bulks = between(rng, 1, 4);
  for (int i = 0; i < bulks; ++i) {
    Operation operation{.kind = Operation::Kind::kBulk};
    operation.at = between(rng, 0ms, plan.lasts * 9 / 10);
    operation.server = static_cast<int>(rng.below(3));
    operation.type = pick(rng, kTypes);
    operation.retries = chance(rng, 40);
    operation.stops = chance(rng, 20);
    plan.operations.push_back(std::move(operation));
  }
}

// In a quarter of the plans several talk to one conversation at nearly the same moments.
void draw_conversation(Rng& rng, Plan& plan) {
  if (!chance(rng, 25)) return;
  const int bursts = between(rng, 2, 6);
  for (int burst = 0; burst < bursts; ++burst) {
    const Millis at = between(rng, 0ms, plan.lasts * 9 / 10);
    for (int i = between(rng, 2, 6); i > 0; --i) {
      Operation operation{.kind = Operation::Kind::kConverse};
      operation.at = at + between(rng, 0ms, 3ms);
      operation.server = static_cast<int>(rng.below(3));
      operation.target = static_cast<int>(plan.operations.size());
      operation.appends = chance(rng, 50);
      plan.operations.push_back(std::move(operation));
    }
  }
}

Millis draw_duration(Rng& rng, Fault::Kind kind) {
  using enum Fault::Kind;
  switch (kind) {
    case kFreezeWorker:
    case kFreezeWithShims:
    case kFreezeAtFailpoint:
      return between(rng, 1s, 60s);
    case kStoreFails:
    case kStoreForgetsAnswer:
    case kStoreSlow:
    case kDiskFull:
      return between(rng, 1s, 30s);
    case kSettleTwice:
      return between(rng, 10s, 120s);
    default:
      return between(rng, 100ms, 20s);
  }
}

Millis draw_jump(Rng& rng) {
  const std::vector<Millis> sizes{5s, 60s, 3600s, 24h * 3650};
  const Millis size = pick(rng, sizes);
  return chance(rng, 50) ? size : -size;
}

Fault draw_fault(Rng& rng, const Plan& plan, Fault::Kind kind) {
  Fault fault;
  fault.kind = kind;
  fault.at = between(rng, 1s, plan.lasts * 9 / 10);
  const int workers = static_cast<int>(plan.workers.size());
  fault.victim = between(rng, 0, plan.servers + workers - 1);
  if (kind == Fault::Kind::kDrain || chance(rng, 50)) fault.victim = plan.servers + between(rng, 0, workers - 1);
  fault.count = between(rng, 1, chance(rng, 50) ? 5 : 60);
  fault.lasts = draw_duration(rng, kind);
  fault.jump = draw_jump(rng);
  fault.percent = pick(rng, std::vector<int>{5, 30, 100});
  return fault;
}

// Swarm: most kinds of fault are off in any one seed, so that those that are on do not hide behind the others.
void draw_faults(Rng& rng, Plan& plan) {
  if (chance(rng, 8)) return;
  std::vector<Fault::Kind> enabled;
  for (int kind = 0; kind < Fault::kKinds; ++kind) {
    if (chance(rng, 30)) enabled.push_back(static_cast<Fault::Kind>(kind));
  }
  if (enabled.empty()) return;
  const int faults = between(rng, 3, 20);
  for (int i = 0; i < faults; ++i) plan.faults.push_back(draw_fault(rng, plan, pick(rng, enabled)));
  std::ranges::sort(plan.faults, {}, &Fault::at);
}

// Few sessions, so that tasks meet in them.
void draw_sessions(Rng& rng, Plan& plan) {
  if (!chance(rng, 40)) return;
  for (Operation& operation : plan.operations) {
    for (TaskPlan& task : operation.tasks) {
      if (!chance(rng, 40)) continue;
      task.spec.session = fmt::format("s{}", rng.below(2));
      if (chance(rng, 60)) task.spec.bootstrap = fmt::format(R"({{"key":"k{}","text":"know this"}})", rng.below(3));
    }
  }
}

void draw_interrupts(Rng& rng, Plan& plan) {
  for (Operation& operation : plan.operations) {
    for (TaskPlan& task : operation.tasks) {
      if (task.spec.session && chance(rng, 20)) task.spec.busy = BusyRule::kInterrupt;
    }
  }
}

// ---- budgets

constexpr Millis kDay = 24h;

// Small enough to be used up, and large enough for some runs at once.
BudgetPlan draw_budget(Rng& rng, const Plan& plan, BudgetUnit unit) {
  std::vector<std::string> gates{"all", "owner:*", "owner:team", "type:" + kTypes[rng.below(kTypes.size())]};
  if (!plan.provider_type.empty()) gates.emplace_back("provider:acme");
  BudgetPlan drawn{.gate = pick(rng, gates), .budget = {.unit = unit}};
  const std::int64_t per_run = std::max<std::int64_t>(amount_in(plan.per_run.begin()->second, unit), 1);
  drawn.budget.limit = per_run * between(rng, 2, 12) + between(rng, 0, 1) * per_run / 2;
  if (chance(rng, 60)) drawn.budget.per = chance(rng, 80) ? BudgetPer::kDay : BudgetPer::kMonth;
  if (chance(rng, 30)) drawn.budget.on_breach = OnBreach::kFail;
  return drawn;
}

// In a third of the plans; midnight is in their middle. Where the wall clock jumps, nobody could say which day a run
// was in.
void draw_budgets(Rng& rng, Plan& plan) {
  if (!chance(rng, 33) || std::ranges::find(plan.faults, Fault::Kind::kClockJump, &Fault::kind) != plan.faults.end())
    return;
  plan.wall_at_start = kDay - between(rng, 60s, 540s);
  for (const std::string& type : kTypes) {
    plan.per_run[type] = {between(rng, 1, 3) * 1'000, chance(rng, 80) ? 500 : 0, between(rng, 2, 4),
                          between(rng, 2'000, 15'000)};
  }
  const int budgets = between(rng, 1, 3);
  for (int i = 0; i < budgets; ++i) {
    const BudgetPlan drawn = draw_budget(rng, plan, kBudgetUnits[rng.below(kBudgetUnits.size())]);
    const bool is_there = std::ranges::any_of(plan.budgets, [&](const BudgetPlan& other) {
      const bool same_owners = drawn.gate.starts_with("owner:") && other.gate.starts_with("owner:");
      return same_owners ? drawn.gate != other.gate || drawn.budget.unit == other.budget.unit
                         : drawn.gate == other.gate && drawn.budget.unit == other.budget.unit;
    });
    if (!is_there) plan.budgets.push_back(drawn);
  }
  for (Operation& operation : plan.operations) {
    for (TaskPlan& task : operation.tasks) {
      if (chance(rng, 15)) task.spec.budget = fmt::format(R"({{"turns":{}}})", between(rng, 2, 6));
      if (chance(rng, 10)) task.spec.budget = fmt::format(R"({{"tokens":{}}})", between(rng, 300, 1'500));
    }
  }
  for (int raises = between(rng, 0, 4); raises > 0; --raises) {
    Operation operation{.kind = Operation::Kind::kRaise};
    operation.at = between(rng, 0ms, plan.lasts * 9 / 10);
    operation.server = static_cast<int>(rng.below(3));
    operation.budget = rng.below(plan.budgets.size());
    operation.amount =
        std::max<std::int64_t>(plan.budgets[operation.budget].budget.limit * between(rng, 1, 10) / 10, 1);
    plan.operations.push_back(std::move(operation));
  }
}

ErrorClass draw_class(Rng& rng, const std::vector<ErrorClass>& classes) {
  return pick(rng, classes);
}

}  // namespace

std::string_view name_of(Fault::Kind kind) {
  return kFaultNames[std::to_underlying(kind)];
}

std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t part) {
  SeededRng rng(seed * 0x9e3779b97f4a7c15 + part);
  return rng.next();
}

namespace {

std::string amount_text(BudgetUnit unit, std::int64_t amount) {
  if (unit == BudgetUnit::kUsd) return fmt::format("{}.{:06}", amount / 1'000'000, amount % 1'000'000);
  return unit == BudgetUnit::kWall ? fmt::format("\"{}ms\"", amount) : std::to_string(amount);
}

void write_types(json::Writer& out, const Plan& plan) {
  out.key("types").begin_object();
  for (const std::string& type : kTypes) {
    if (plan.budgets.empty() && type != plan.provider_type) continue;
    out.key(type).begin_object();
    if (type == plan.provider_type) out.key("provider").string("acme");
    if (!plan.budgets.empty()) {
      out.key("budget_per_run").begin_object();
      for (const BudgetUnit unit : kBudgetUnits) {
        out.key(name_of(unit)).raw(amount_text(unit, amount_in(plan.per_run.at(type), unit)));
      }
      out.end_object();
    }
    out.end_object();
  }
  out.end_object();
}

// Those of one gate.
std::string budgets_json(const Plan& plan, const std::string& gate) {
  std::string list;
  for (const BudgetPlan& one : plan.budgets) {
    if (one.gate != gate) continue;
    list += fmt::format(R"({}{{"{}":{},"per":"{}","on_breach":"{}"}})", list.empty() ? "" : ",",
                        name_of(one.budget.unit), amount_text(one.budget.unit, one.budget.limit),
                        name_of(one.budget.per), name_of(one.budget.on_breach));
  }
  return fmt::format(R"({{"budgets":[{}]}})", list);
}

void write_budgets(json::Writer& out, const Plan& plan) {
  std::set<std::string> gates;
  for (const BudgetPlan& one : plan.budgets) gates.insert(one.gate);
  for (const bool of_owners : {true, false}) {
    out.key(of_owners ? "owners" : "gates").begin_object();
    for (const std::string& gate : gates) {
      if (gate.starts_with("owner:") != of_owners) continue;
      const std::string owner = gate == "owner:*" ? "default" : gate.substr(gate.find(':') + 1);
      out.key(of_owners ? owner : gate).raw(budgets_json(plan, gate));
    }
    out.end_object();
  }
}

JsonText config_of(const Plan& plan) {
  json::Writer out;
  out.begin_object();
  if (plan.retention) out.key("limits").raw(R"({"retention":"60s","event_retention":"120s"})");
  if (!plan.provider_type.empty() || !plan.budgets.empty()) write_types(out, plan);
  if (!plan.budgets.empty()) write_budgets(out, plan);
  out.end_object();
  return std::move(out).take();
}

}  // namespace

Plan make_plan(std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  SeededRng topology(derive_seed(seed, kTopology));
  draw_topology(topology, plan);
  SeededRng agents(derive_seed(seed, kAgentMix));
  draw_agents(agents, plan);
  SeededRng work(derive_seed(seed, kWork));
  draw_work(work, plan);
  SeededRng verdicts(derive_seed(seed, kVerdicts));
  draw_verdicts(verdicts, plan);
  SeededRng edits(derive_seed(seed, kEdits));
  draw_edits(edits, plan);
  SeededRng bulks(derive_seed(seed, kBulks));
  draw_bulks(bulks, plan);
  SeededRng faults(derive_seed(seed, kFaultDraws));
  draw_faults(faults, plan);
  SeededRng provider(derive_seed(seed, kProvider));
  if (chance(provider, 40)) plan.provider_type = pick(provider, kTypes);
  SeededRng sessions(derive_seed(seed, kSessions));
  draw_sessions(sessions, plan);
  SeededRng interrupts(derive_seed(seed, kInterrupts));
  draw_interrupts(interrupts, plan);
  SeededRng conversation(derive_seed(seed, kConversation));
  draw_conversation(conversation, plan);
  SeededRng budgets(derive_seed(seed, kBudgets));
  draw_budgets(budgets, plan);
  plan.config = config_of(plan);
  return plan;
}

Plan make_redis_plan(std::uint64_t seed) {
  using enum Fault::Kind;
  constexpr std::array kOfSqlite{kKillAtDiskOp, kPowerCut, kPowerCutAtDiskOp, kDiskFull, kDiskError, kSyncError};
  Plan plan = make_plan(seed);
  std::erase_if(plan.faults,
                [&](const Fault& fault) { return std::ranges::find(kOfSqlite, fault.kind) != kOfSqlite.end(); });
  return plan;
}

Behaviour behaviour_of(const Plan& plan, int number, int run) {
  SeededRng rng(derive_seed(derive_seed(plan.seed, kBehaviours),
                            static_cast<std::uint64_t>(number) * 1000 + static_cast<std::uint64_t>(run)));
  const AgentMix& mix = plan.agents;
  Behaviour behaviour;
  behaviour.takes = between(rng, 20ms, mix.takes_max);
  behaviour.ignores_term = chance(rng, mix.ignore_term);
  behaviour.talks = chance(rng, mix.talk);
  if (chance(rng, mix.spawn)) behaviour.children = between(rng, 1, 2);
  if (chance(rng, mix.hang)) {
    behaviour.kind = Behaviour::Kind::kHang;
  } else if (chance(rng, mix.crash)) {
    behaviour.kind = Behaviour::Kind::kCrash;
  } else if (chance(rng, mix.rate_limited)) {
    behaviour.kind = Behaviour::Kind::kFail;
    behaviour.error_class =
        draw_class(rng, {ErrorClass::kRateLimited, ErrorClass::kQuotaExhausted, ErrorClass::kOverloaded});
    if (chance(rng, 60)) behaviour.retry_after = between(rng, 0ms, 20s);
  } else if (chance(rng, mix.fail_for_good)) {
    behaviour.kind = Behaviour::Kind::kFail;
    behaviour.error_class = draw_class(
        rng, {ErrorClass::kSyntax, ErrorClass::kInvalid, ErrorClass::kAuth, ErrorClass::kBilling, ErrorClass::kOom});
  } else if (chance(rng, mix.fail)) {
    behaviour.kind = Behaviour::Kind::kFail;
    behaviour.error_class = draw_class(rng, {ErrorClass::kAgentError, ErrorClass::kTimeout, ErrorClass::kSpawnFailed});
  }
  behaviour.waits = behaviour.children > 0 && chance(rng, 60);
  return behaviour;
}

// Two or three requests are what is set aside for a run, and some make more.
Spending spending_of(const Plan& plan, const std::string& type, int number, int run) {
  SeededRng rng(derive_seed(derive_seed(plan.seed, kSpendings),
                            static_cast<std::uint64_t>(number) * 1000 + static_cast<std::uint64_t>(run)));
  const BudgetAmounts& per_run = plan.per_run.at(type);
  Spending spending{.requests = between(rng, 0, 5)};
  for (std::size_t i = 0; i < spending.each.size(); ++i) {
    spending.each[i] = per_run[i] * between(rng, 10, 60) / 100 + between(rng, 0, 3);
  }
  amount_in(spending.each, BudgetUnit::kTurns) = 1;
  spending.has_price = chance(rng, 85);
  spending.at_door = chance(rng, 20);
  return spending;
}

Usage usage_after(const Spending& spending, int requests) {
  Usage usage{.tokens = {.output = amount_in(spending.each, BudgetUnit::kTokens) * requests},
              .turns = amount_in(spending.each, BudgetUnit::kTurns) * requests};
  if (!spending.has_price) return usage;
  usage.cost = amount_in(spending.each, BudgetUnit::kUsd) * requests;
  usage.basis = CostBasis::kReported;
  return usage;
}

}  // namespace drover::sim
