// Budgets of gates: what is spent, and what is set aside for runs that go on. core/budget.h has the rules.
#include <algorithm>
#include <map>
#include <ranges>

#include "core/gate_name.h"
#include "core/lane.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kAllSpend = named_sql(embedded::spend_sql, "all");
constexpr std::string_view kPutOneSpend = named_sql(embedded::spend_sql, "put");
constexpr std::string_view kAsides = named_sql(embedded::spend_sql, "asides");
constexpr std::string_view kForgetAsides = named_sql(embedded::spend_sql, "forget_asides");
constexpr std::string_view kRunningBudgets = named_sql(embedded::spend_sql, "running");

Task running_task(Statement& query) {
  Task like;
  like.queue = query.text();
  like.type = query.text();
  like.owner = query.text();
  const std::string gates = query.text();
  for (const auto gate : std::views::split(gates, ',')) {
    if (!gate.empty()) like.gates.emplace_back(gate.begin(), gate.end());
  }
  return like;
}

bool counts(const GateLimits& limits, BudgetUnit unit) {
  return std::ranges::find(limits.budgets, unit, &BudgetLimit::unit) != limits.budgets.end();
}

}  // namespace

void book_spend(Transaction& transaction, const Task& task, const SpendChange& spend) {
  const std::span<Gate* const> gates = transaction.gates().of(task);
  const BudgetAmounts& per_run = type_gate(gates).limits.per_run;
  for (Gate* gate : gates) {
    if (gate->limits.budgets.empty()) continue;
    book(spend, per_run, gate->limits.budgets, gate->use.budgets);
    gate->has_spent = true;
    transaction.gates().changed(*gate);
  }
}

bool has_room_for(Transaction& transaction, const Task& task, const SpendChange& spend) {
  const std::span<Gate* const> gates = transaction.gates().of(task);
  const BudgetAmounts& per_run = type_gate(gates).limits.per_run;
  return std::ranges::all_of(gates, [&](const Gate* gate) {
    return gate->limits.budgets.empty() || fits(spend, per_run, gate->limits.budgets, gate->use.budgets);
  });
}

std::vector<SpendEntry> count_asides(Connection& db, GateRows& gates) {
  std::map<std::pair<std::string, BudgetUnit>, std::int64_t> sums;
  std::vector<std::pair<Task, RunBudget>> running;
  {
    Statement query = db.prepare(kRunningBudgets);
    while (query.step()) {
      Task like = running_task(query);
      running.emplace_back(std::move(like), run_budget_of(query.maybe_text()));
    }
  }
  for (const auto& [like, run] : running) {
    const std::span<Gate* const> asked = gates.of(like);
    const BudgetAmounts held = held_back(type_gate(asked).limits.per_run, run);
    for (const Gate* gate : asked) {
      for (const BudgetUnit unit : kBudgetUnits) {
        if (counts(gate->limits, unit)) sums[{gate->name(), unit}] += amount_in(held, unit);
      }
    }
  }
  std::vector<SpendEntry> asides;
  for (const auto& [key, amount] : sums) {
    if (amount != 0) asides.push_back({.gate = key.first, .unit = key.second, .period = "", .amount = amount});
  }
  std::ranges::sort(asides);
  return asides;
}

std::vector<SpendEntry> stored_asides(Connection& db) {
  std::vector<SpendEntry> asides;
  Statement query = db.prepare(kAsides);
  while (query.step()) {
    SpendEntry entry{.gate = query.text()};
    entry.unit = parse_budget_unit(query.text()).value_or(BudgetUnit::kUsd);
    entry.amount = query.integer();
    asides.push_back(std::move(entry));
  }
  std::ranges::sort(asides);
  return asides;
}

void recount_asides(Transaction& transaction) {
  GateRows& gates = transaction.gates();
  gates.flush();
  const std::vector<SpendEntry> asides = count_asides(transaction.db(), gates);
  transaction.db().run(kForgetAsides);
  restore_spend(transaction.db(), asides);
  gates.read_spends();
}

std::vector<SpendEntry> read_spend(Connection& db) {
  std::vector<SpendEntry> entries;
  Statement query = db.prepare(kAllSpend);
  while (query.step()) {
    SpendEntry entry{.gate = query.text()};
    entry.unit = parse_budget_unit(query.text()).value_or(BudgetUnit::kUsd);
    entry.period = query.text();
    entry.amount = query.integer();
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries);
  return entries;
}

void restore_spend(Connection& db, std::span<const SpendEntry> entries) {
  for (const SpendEntry& entry : entries) {
    db.run(kPutOneSpend, entry.gate, name_of(entry.unit), entry.period, entry.amount);
  }
}

}  // namespace drover::sqlite
