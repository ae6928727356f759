#include "policy/budget_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "base/time_zone.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "policy/config_values.h"

namespace drover {
namespace {

constexpr std::size_t kBudgetsMax = 8;  // of one gate

Result<std::int64_t> amount_of(const ConfigNode& node, BudgetUnit unit) {
  const json::Value value = node.to_json();
  const json::Value::Number* number = value.as_number();
  if (number == nullptr && value.as_string() == nullptr) return node.expected("an amount");
  auto amount = parse_amount(unit, number != nullptr ? number->text : *value.as_string());
  if (!amount) return node.error(amount.error());
  return amount;
}

struct BudgetReading {
  Budget budget{};
  int units = 0;
};

template <BudgetUnit Unit>
Status read_limit(BudgetReading& reading, const ConfigNode& node) {
  reading.budget.unit = Unit;
  ++reading.units;
  return put(amount_of(node, Unit), reading.budget.limit);
}

Result<std::string> zone_of(const ConfigNode& node) {
  auto zone = TRY(node.text());
  if (zone == "UTC" || TimeZone::load(zone)) return zone;
  return node.error(fmt::format("there is no time zone {}", quoted_excerpt(zone)));
}

constexpr auto kBudgetFields = std::to_array<ConfigField<BudgetReading>>({
    {"usd", read_limit<BudgetUnit::kUsd>},
    {"tokens", read_limit<BudgetUnit::kTokens>},
    {"turns", read_limit<BudgetUnit::kTurns>},
    {"wall", read_limit<BudgetUnit::kWall>},
    {"per", [](BudgetReading& b,
               const ConfigNode& n) { return put(one_of(n, parse_budget_per, "day, month or none"), b.budget.per); }},
    {"zone", [](BudgetReading& b, const ConfigNode& n) { return put(zone_of(n), b.budget.zone); }},
    {"on_breach",
     [](BudgetReading& b, const ConfigNode& n) {
       return put(one_of(n, parse_on_breach, "pause, ask or fail"), b.budget.on_breach);
     }},
});

template <BudgetUnit Unit>
Status read_share(BudgetShares& shares, const ConfigNode& node) {
  return put(amount_of(node, Unit), shares[std::to_underlying(Unit)]);
}

constexpr auto kShareFields = std::to_array<ConfigField<BudgetShares>>({
    {"usd", read_share<BudgetUnit::kUsd>},
    {"tokens", read_share<BudgetUnit::kTokens>},
    {"turns", read_share<BudgetUnit::kTurns>},
    {"wall", read_share<BudgetUnit::kWall>},
});

bool is_same_series(const Budget& a, const Budget& b) {
  return a.unit == b.unit && a.per == b.per && a.zone == b.zone;
}

// ---- which types a budget covers

bool covers(const GateName& gate, const std::string& type, const TypePolicy& policy) {
  switch (gate.kind) {
    case GateKind::kType:
      return gate.subject == type;
    case GateKind::kProvider:
      return policy.provider && *policy.provider == gate.subject;
    case GateKind::kAll:
    case GateKind::kOwner:
    case GateKind::kTag:
    case GateKind::kTree:
    case GateKind::kSession:
    case GateKind::kQueue:
    case GateKind::kLock:
      return true;
  }
  return true;
}

// A gate with budgets, and where the document has it.
struct Written {
  std::string gate;
  std::vector<std::string> path;
  const std::vector<Budget>* budgets;
};

std::vector<Written> written_budgets(const Policy& policy) {
  std::vector<Written> all;
  const auto add = [&](std::string gate, std::vector<std::string> path, const GatePolicy& entry) {
    path.emplace_back("budgets");
    if (!entry.budgets.empty()) all.push_back({std::move(gate), std::move(path), &entry.budgets});
  };
  add(std::string(kOtherOwnersGate), {"owners", "default"}, policy.other_owners.gate);
  for (const auto& [name, owner] : policy.owners) add(gate_name(GateKind::kOwner, name), {"owners", name}, owner.gate);
  for (const auto& [name, gate] : policy.gates) add(name, {"gates", name}, gate);
  return all;
}

Status check_covered(const ConfigNode& root, const Policy& policy, const Written& written) {
  const auto gate = parse_gate_name(written.gate);
  for (const auto& [type, of_type] : policy.types) {
    if (!gate || !covers(*gate, type, of_type)) continue;
    for (const Budget& budget : *written.budgets) {
      if (of_type.budget_per_run[std::to_underlying(budget.unit)]) continue;
      return root.at(written.path)
          .error(
              fmt::format("type {0} has no budget_per_run.{1}: say how much a run of it may spend before it asks for "
                          "more, or 0 if it spends nothing (types.{0}.budget_per_run)",
                          type, name_of(budget.unit)));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Budget>> budgets_of(const ConfigNode& node) {
  const auto items = TRY(node.items());
  if (items.size() > kBudgetsMax) return node.error(fmt::format("at most {} budgets", kBudgetsMax));
  std::vector<Budget> budgets;
  for (const ConfigNode& item : items) {
    BudgetReading reading;
    TRY(read_fields(item, kBudgetFields, reading));
    if (reading.units != 1) return item.error("a budget has one of usd, tokens, turns and wall");
    const auto is_same = [&](const Budget& other) { return is_same_series(other, reading.budget); };
    if (std::ranges::any_of(budgets, is_same)) return item.error("there is such a budget already");
    budgets.push_back(std::move(reading.budget));
  }
  return budgets;
}

Result<BudgetShares> budget_shares_of(const ConfigNode& node) {
  BudgetShares shares{};
  TRY(read_fields(node, kShareFields, shares));
  return shares;
}

Status check_budgets(const ConfigNode& root, Policy& policy) {
  const std::vector<Written> all = written_budgets(policy);
  // A type that says what its runs may spend speaks of the budgets of trees, too.
  const auto says = [](const auto& type) { return type.second.budget_per_run != BudgetShares{}; };
  policy.has_budgets = !all.empty() || std::ranges::any_of(policy.types, says);
  for (const Written& written : all) TRY(check_covered(root, policy, written));
  return {};
}

const ZoneOffset& system_zones() {
  static std::mutex mutex;
  static ZoneFiles files("");
  static const ZoneOffset kOffset = [](std::string_view zone, Time at) {
    const std::lock_guard lock(mutex);
    return files(zone, at);
  };
  return kOffset;
}

}  // namespace drover
