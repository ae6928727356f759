#include "sim/budget_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "core/lane.h"
#include "core/run_report.h"
#include "engine/gate_status.h"

namespace drover::sim {
namespace {

constexpr int kMany = 1'000;
constexpr auto kWall = static_cast<std::size_t>(BudgetUnit::kWall);
constexpr auto kUsd = static_cast<std::size_t>(BudgetUnit::kUsd);

// Each owner that the plans name has such a gate of its own.
std::vector<std::string> gates_of_plan(const Plan& plan) {
  std::set<std::string> gates;
  for (const BudgetPlan& one : plan.budgets) {
    if (one.gate == "owner:*") {
      gates.insert({"owner:team", "owner:default"});
    } else {
      gates.insert(one.gate);
    }
  }
  return {gates.begin(), gates.end()};
}

bool has_jumps(const Plan& plan) {
  return std::ranges::any_of(plan.faults, [](const Fault& fault) { return fault.kind == Fault::Kind::kClockJump; });
}

std::string_view name_of_unit(std::size_t unit) {
  return name_of(static_cast<BudgetUnit>(unit));
}

}  // namespace

BudgetWatch::BudgetWatch(const Plan& plan, Millis slack)
    : plan_(plan), slack_(slack), clock_jumps_(has_jumps(plan)), gates_(gates_of_plan(plan)) {}

void BudgetWatch::said(const TaskId& id, int run, const Usage& usage) {
  Words& words = words_[{id, run}];
  words.most = most_of(words.most, usage);
  ++words.lost;
}

void BudgetWatch::took(const TaskId& id, int run, const Usage& usage) {
  Words& words = words_[{id, run}];
  words.least = most_of(words.least, usage);
  --words.lost;
}

bool BudgetWatch::passes(const Run& run, const std::string& gate) {
  return std::ranges::find(run.gates, gate) != run.gates.end();
}

std::int64_t BudgetWatch::per_run(const std::string& type, std::size_t unit) const {
  return plan_.per_run.at(type)[unit];
}

std::optional<Wrong> BudgetWatch::take(const Event& event, const Task& task) {
  if (plan_.budgets.empty()) return std::nullopt;
  given_.try_emplace(event.task, task);
  if (event.name == "task.retried" || event.name == "task.revived") ends_by_settlement_.erase(event.task);
  const bool is_judged = event.name == "task.retrying" || event.name == "task.deferred";
  if (is_judged) ends_by_settlement_.insert(event.task);
  if (event.name != "task.claimed") return std::nullopt;
  window_.claimed.emplace_back(event.task, event.run);
  window_.claimed_at = event.at;
  return check_task_budget(event, task);
}

// Another run could not do anything. After a lost lease, or a run that was given back, it is told so with its first
// report.
std::optional<Wrong> BudgetWatch::check_task_budget(const Event& event, const Task& task) {
  if (!task.budget || ends_by_settlement_.erase(event.task) == 0) return std::nullopt;
  const auto budget = parse_task_budget(*task.budget);
  const auto unit = budget ? used_up(*budget, task_spent_[event.task]) : std::nullopt;
  if (!unit) return std::nullopt;
  return Wrong{"B5 task budget", fmt::format("task {} starts again, and its runs have used up its {}",
                                             event.task.to_string(), name_of(*unit))};
}

// What is booked of a run is what its agent has said; of a program at its door no more than what was set aside.
std::optional<Wrong> BudgetWatch::check_run(const RunKey& key, const Run& run, const Usage& usage) const {
  const auto known = words_.find(key);
  const Words words = known != words_.end() ? known->second : Words{};
  const BudgetAmounts least = amounts_of(words.least, Millis{0});
  const BudgetAmounts most = amounts_of(words.most, Millis{0});
  const BudgetAmounts row = amounts_of(usage, Millis{0});
  for (std::size_t unit = 0; unit < kWall; ++unit) {
    if (row[unit] < least[unit] || row[unit] > most[unit]) {
      return Wrong{"B1 booked once",
                   fmt::format("run {} of task {} has used {} to {} {}, and its row says {}", key.second,
                               key.first.to_string(), least[unit], most[unit], name_of_unit(unit), row[unit])};
    }
  }
  for (std::size_t unit = 0; unit < run.booked.size(); ++unit) {
    const std::int64_t one = per_run(run.type, unit);
    if (one > 0 && run.granted[unit] % one != 0) {
      return Wrong{"B4 slices", fmt::format("run {} of task {} was granted {} {}, and a slice is {}", key.second,
                                            key.first.to_string(), run.granted[unit], name_of_unit(unit), one)};
    }
    // The last report that was answered let it go on, or it is being stopped.
    const std::int64_t each = run.spending ? run.spending->each[unit] : 0;
    if (unit != kWall && one > 0 && run.overdraft(unit) > each * (1 + words.lost)) {
      return Wrong{"B4 slices",
                   fmt::format("run {} of task {} has spent {} {}, was granted {} and goes on", key.second,
                               key.first.to_string(), run.booked[unit], name_of_unit(unit), run.granted[unit])};
    }
  }
  return std::nullopt;
}

std::optional<Wrong> BudgetWatch::read_running(Store& store, std::map<RunKey, Run>& now) {
  const auto page = store.list({.states = {TaskState::kRunning}}, kMany, std::nullopt, Parts::kHead);
  if (!page) return Wrong{"store", to_string(page.error())};
  for (const TaskRecord& row : page->records) {
    const RunKey key{row.task.id, row.task.run};
    const auto given = given_.find(row.task.id);
    if (given == given_.end()) return Wrong{"B1 booked once", "a task runs that no event told of"};
    Run run{.gates = gates_of(given->second), .type = row.task.type};
    run.spending = spending_of(plan_, row.task.type, std::atoi(given->second.payload->c_str() + 5), row.task.run);
    const RunBudget standing = run_budget_of(row.run_budget);
    run.booked = standing.spent;
    for (std::size_t unit = 0; unit < run.granted.size(); ++unit) {
      run.granted[unit] = std::max(per_run(run.type, unit), standing.granted[unit]);
    }
    const Usage usage = usage_of(row.run_usage);
    if (auto wrong = check_run(key, run, usage)) return wrong;
    // Whatever reports have booked is what the row says of the run, in every gate alike.
    const bool is_budgeted = std::ranges::any_of(gates_, [&](const auto& gate) { return passes(run, gate); });
    const BudgetAmounts used = amounts_of(usage, Millis{0});
    for (std::size_t unit = 0; is_budgeted && unit < kWall; ++unit) {
      const std::int64_t one = per_run(run.type, unit);
      const std::int64_t believed = run.spending->at_door && one > 0 ? std::min(used[unit], one) : used[unit];
      if (believed == run.booked[unit]) continue;
      return Wrong{"B1 booked once",
                   fmt::format("run {} of task {} has used {} {}, of which {} are booked", key.second,
                               key.first.to_string(), used[unit], name_of_unit(unit), run.booked[unit])};
    }
    now.emplace(key, std::move(run));
  }
  return std::nullopt;
}

// `run` as it was; afterwards with all that it has spent.
std::optional<Wrong> BudgetWatch::read_ended(Store& store, const RunKey& key, Run& run, Window& window) {
  const auto runs = store.runs(key.first, kMany);
  if (!runs) return Wrong{"store", to_string(runs.error())};
  const auto ended = std::ranges::find(*runs, key.second, &RunSummary::run);
  if (ended == runs->end() || !ended->ended_at) {
    window.is_whole = false;  // deleted meanwhile
    return std::nullopt;
  }
  const Usage usage = usage_of(ended->usage);
  const Run before = run;
  run.booked = amounts_of(usage, *ended->ended_at - ended->started_at);
  if (run.spending->at_door) {
    for (std::size_t unit = 0; unit < kWall; ++unit) run.booked[unit] = before.booked[unit];
  }
  // Where nobody knows the price it is what was set aside.
  if (!usage.cost && token_count(usage.tokens) > 0) run.booked[kUsd] = per_run(run.type, kUsd);
  run.booked[kWall] = std::max(run.booked[kWall], before.booked[kWall]);
  BudgetAmounts& spent = task_spent_[key.first];
  const BudgetAmounts used = amounts_of(usage, *ended->ended_at - ended->started_at);
  for (std::size_t unit = 0; unit < spent.size(); ++unit) spent[unit] += used[unit];
  return std::nullopt;
}

std::optional<Wrong> BudgetWatch::look(Store& store) {
  if (plan_.budgets.empty()) return std::nullopt;
  Window window = std::exchange(window_, {});
  std::map<RunKey, Run> now;
  if (auto wrong = read_running(store, now)) return wrong;
  for (const auto& [id, run] : window.claimed) {
    if (live_.contains({id, run})) continue;
    const Task& task = given_.at(id);
    Run begun{.gates = gates_of(task), .type = task.type};
    begun.spending = spending_of(plan_, task.type, std::atoi(task.payload->c_str() + 5), run);
    for (std::size_t unit = 0; unit < begun.granted.size(); ++unit) begun.granted[unit] = per_run(begun.type, unit);
    live_.emplace(RunKey{id, run}, std::move(begun));
  }
  for (auto& [key, before] : live_) {
    const auto goes_on = now.find(key);
    if (goes_on == now.end()) {
      window.ended.emplace_back(key, before);
      if (auto wrong = read_ended(store, key, before, window)) return wrong;
    } else if (goes_on->second.booked != before.booked || goes_on->second.granted != before.granted) {
      window.moved.emplace(key, before);
      before = goes_on->second;
    }
  }
  std::vector<std::string> names = gates_;
  names.emplace_back("owner:*");
  const auto states = store.read_gates(names);
  if (!states) return Wrong{"store", to_string(states.error())};
  for (const GateState& state : std::span(*states).first(gates_.size())) {
    const GateRecord gate = effective_gate(state.record, states->back().record);
    if (auto wrong = compare(state, gate.budgets, window)) return wrong;
  }
  for (const auto& [key, _] : window.ended) live_.erase(key);
  return std::nullopt;
}

std::optional<Wrong> BudgetWatch::compare(const GateState& state, const std::vector<GateBudget>& budgets,
                                          const Window& window) {
  for (std::size_t i = 0; i < budgets.size() && i < state.use.budgets.spent.size(); ++i) {
    const GateBudget& budget = budgets[i];
    const auto unit = static_cast<std::size_t>(budget.budget.unit);
    Book now{.period = budget.period.id,
             .limit = budget.budget.limit + budget.raised,
             .spent = state.use.budgets.spent[i],
             .aside = state.use.budgets.aside[unit]};
    const auto [known, is_new] = books_.try_emplace({state.record.name, i}, now);
    if (!is_new) {
      if (auto wrong = compare(state.record.name, unit, known->second, now, window)) return wrong;
    }
    now.limit_max = std::max(now.limit_max, now.limit);
    known->second = now;
  }
  return std::nullopt;
}

std::optional<Wrong> BudgetWatch::compare(const std::string& gate, std::size_t unit, const Book& before, Book& now,
                                          const Window& window) {
  const auto wrong = [&](std::string check, std::string what) {
    return Wrong{std::move(check), fmt::format("{} {}, {}: {}", gate, name_of_unit(unit), now.period, what)};
  };
  std::int64_t booked = 0;
  std::int64_t booked_at_most = 0;
  std::int64_t overdraft = 0;
  const auto add = [&](const Run& was, const Run& is) {
    const std::int64_t more = is.booked[unit] - was.booked[unit];
    booked += more;
    booked_at_most += std::max<std::int64_t>(more, 0);
    overdraft += std::max<std::int64_t>(is.overdraft(unit) - was.overdraft(unit), 0);
  };
  std::int64_t held = 0;
  for (const auto& [key, was] : window.ended) {
    if (passes(was, gate)) add(was, live_.at(key));
  }
  for (const auto& [key, was] : window.moved) {
    if (passes(was, gate)) add(was, live_.at(key));
  }
  const auto has_ended = [&](const RunKey& key) {
    return std::ranges::any_of(window.ended, [&](const auto& one) { return one.first == key; });
  };
  for (const auto& [key, run] : live_) {
    if (passes(run, gate) && !has_ended(key)) held += run.held(unit);
  }
  if (now.aside != held)
    return wrong("B3 set aside", fmt::format("{} is set aside, and the runs that go on have {}", now.aside, held));
  const bool is_same_period = now.period == before.period;
  now.before = before.before;
  if (is_same_period) {
    now.limit_max = before.limit_max;
    now.overdraft = before.overdraft + overdraft;
    const std::int64_t more = now.spent - before.spent;
    if (more < 0) return wrong("B1 booked once", fmt::format("{} was spent, and now {}", before.spent, now.spent));
    if (window.is_whole && more != booked)
      return wrong("B1 booked once", fmt::format("runs have spent {} more, and {} was booked", booked, more));
  } else {
    // What the runs that go on have set aside comes along.
    now.limit_max = std::max(now.limit, now.aside);
    now.overdraft = overdraft;
    now.before[before.period] = before.spent;
    if (!clock_jumps_ && now.period < before.period) return wrong("B2 periods", fmt::format("after {}", before.period));
    if (now.spent > now.before[now.period] + booked_at_most)
      return wrong("B2 periods", fmt::format("it begins with {} spent, of which runs have spent {} since {}", now.spent,
                                             booked_at_most, before.period));
  }
  if (window.is_whole && now.spent > std::max(now.limit_max, now.limit) + now.overdraft)
    return wrong("B3 cap", fmt::format("{} of {} are spent, {} of them beyond what runs were granted", now.spent,
                                       std::max(now.limit_max, now.limit), now.overdraft));
  if (auto broken = check_claims(gate, unit, before, now, window)) return broken;
  return is_same_period ? check_slice(gate, unit, now, window) : std::nullopt;
}

// Before the claims nothing but ends of runs can have made room.
std::optional<Wrong> BudgetWatch::check_claims(const std::string& gate, std::size_t unit, const Book& before,
                                               const Book& now, const Window& window) const {
  const bool is_same_period = now.period == before.period;
  std::int64_t wanted = 0;
  bool starts = false;
  for (const auto& [id, number] : window.claimed) {
    const RunKey key{id, number};
    const Run& run = live_.at(key);
    const bool has_ended = std::ranges::any_of(window.ended, [&](const auto& one) { return one.first == key; });
    if (!passes(run, gate) || has_ended) continue;
    starts = true;
    wanted += per_run(run.type, unit);
  }
  if (!starts) return std::nullopt;
  if (!clock_jumps_ && now.period.size() > 3) {
    const std::string due =
        period_at(now.period.find('-') == now.period.rfind('-') ? BudgetPer::kMonth : BudgetPer::kDay, "UTC",
                  window.claimed_at - slack_, {})
            .id;
    if (now.period < due)
      return Wrong{"B2 periods", fmt::format("a run starts at {} under the budget {} of {}",
                                             format_time(window.claimed_at), now.period, gate)};
  }
  if (!is_same_period) return std::nullopt;
  std::int64_t used = before.spent + before.aside;
  for (const auto& [key, run] : window.ended) {
    // For one that was claimed since nothing had been set aside before.
    const bool is_new = std::ranges::find(window.claimed, key) != window.claimed.end();
    if (passes(run, gate) && !is_new) used -= run.held(unit);
  }
  const std::int64_t limit = std::max(before.limit, now.limit);
  if (wanted > 0 ? used + wanted <= limit : used < limit) return std::nullopt;
  return Wrong{"B3 cap", fmt::format("{} {}: runs that may spend {} start, and of {} only {} is left", gate,
                                     name_of_unit(unit), wanted, limit, limit - used)};
}

// Only where nothing else has happened it is known what was left.
std::optional<Wrong> BudgetWatch::check_slice(const std::string& gate, std::size_t unit, const Book& now,
                                              const Window& window) const {
  if (!window.claimed.empty() || !window.ended.empty() || window.moved.size() != 1) return std::nullopt;
  const auto& [key, was] = *window.moved.begin();
  const Run& is = live_.at(key);
  if (!passes(is, gate) || is.granted[unit] <= was.granted[unit] || now.spent + now.aside <= now.limit)
    return std::nullopt;
  return Wrong{"B4 slices", fmt::format("run {} of task {} was granted {} {} in all, and {} has only {} of {} left",
                                        key.second, key.first.to_string(), is.granted[unit], name_of_unit(unit), gate,
                                        now.limit - now.spent - now.aside, now.limit)};
}

std::optional<Wrong> BudgetWatch::check_rest(Store& store) {
  if (auto wrong = look(store)) return wrong;
  const auto spend = store.spend();
  if (!spend) return Wrong{"store", to_string(spend.error())};
  for (const SpendEntry& entry : *spend) {
    if (entry.period.empty() && entry.amount != 0)
      return Wrong{"B3 set aside",
                   fmt::format("at rest {} {} of {} are set aside", entry.amount, name_of(entry.unit), entry.gate)};
  }
  return std::nullopt;
}

}  // namespace drover::sim
