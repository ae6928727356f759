#include "core/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/names.h"
#include "core/question.h"

namespace drover {
namespace {

constexpr Names<kBudgetUnitCount> kUnitNames{"usd", "tokens", "turns", "wall"};
constexpr Names<3> kPerNames{"none", "day", "month"};
constexpr Names<3> kOnBreachNames{"pause", "ask", "fail"};
constexpr std::string_view kEver = "all";
constexpr std::int64_t kUnlimitedRuns = 1'000'000;

// ---- periods

std::string date_of(BudgetPer per, std::string_view zone, Time at, const ZoneOffset& offset) {
  const Time local =
      at + (zone == "UTC" ? std::chrono::seconds(0) : offset(zone, at).value_or(std::chrono::seconds(0)));
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(local)};
  std::string date = fmt::format("{:04}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()));
  if (per == BudgetPer::kDay) date += fmt::format("-{:02}", static_cast<unsigned>(day.day()));
  return date;
}

// The first millisecond of the next one. Days of 23 and 25 hours need no rule of their own this way.
Time end_of(const std::string& date, BudgetPer per, std::string_view zone, Time now, const ZoneOffset& offset) {
  Time inside = now;
  Time outside = now + (per == BudgetPer::kDay ? std::chrono::hours(27) : std::chrono::days(33));
  while (outside - inside > Millis{1}) {
    const Time middle = inside + (outside - inside) / 2;
    (date_of(per, zone, middle, offset) == date ? inside : outside) = middle;
  }
  return outside;
}

// ---- amounts as text

struct Suffix {
  char letter;
  std::int64_t factor;
};
constexpr std::array kSuffixes{Suffix{'k', 1'000}, Suffix{'M', 1'000'000}, Suffix{'B', 1'000'000'000}};

std::unexpected<Error> bad_amount(BudgetUnit unit, std::string_view text) {
  const std::string_view expected = unit == BudgetUnit::kUsd    ? "dollars, like 20 or 0.5"
                                    : unit == BudgetUnit::kWall ? "a duration, like 45m"
                                                                : "a whole number, like 80, 500k or 5M";
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected {}, not {}", name_of(unit), expected, quoted_excerpt(text)));
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t factor = 1;
  for (const auto& [letter, times] : kSuffixes) {
    if (!text.empty() && text.back() == letter) {
      factor = times;
      text.remove_suffix(1);
      break;
    }
  }
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (count < 0 || count > kBudgetMax / factor) return std::nullopt;
  return count * factor;
}

void write_amounts(json::Writer& out, std::string_view key, const BudgetAmounts& amounts) {
  out.key(key).begin_array();
  for (const std::int64_t amount : amounts) out.number(amount);
  out.end_array();
}

BudgetAmounts read_amounts(const json::Value& object, std::string_view key) {
  BudgetAmounts amounts{};
  const json::Value* list = object.find(key);
  if (list == nullptr || list->as_array() == nullptr) return amounts;
  for (std::size_t i = 0; i < amounts.size() && i < list->as_array()->size(); ++i) {
    amounts[i] = (*list->as_array())[i].as_int().value_or(0);
  }
  return amounts;
}

std::string member_of(BudgetUnit unit) {
  return unit == BudgetUnit::kWall ? "wall_ms" : std::string(name_of(unit));
}

Result<BudgetShares> parse_shares(std::string_view json, std::int64_t min) {
  const auto value = TRY(json::parse(json));
  if (value.as_object() == nullptr) return fail(ErrorCode::kInvalidArgument, "budget: expected an object");
  BudgetShares shares{};
  for (const auto& [key, amount] : *value.as_object()) {
    const auto unit = std::ranges::find(kBudgetUnits, key, member_of);
    if (unit == kBudgetUnits.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("budget: unknown member {} (known: usd, tokens, turns, wall_ms)", quoted_excerpt(key)));
    }
    std::optional<std::int64_t> parsed = amount.as_int();
    if (*unit == BudgetUnit::kUsd)
      parsed = amount.as_number() != nullptr ? dollars(amount.as_number()->text) : std::nullopt;
    if (!parsed || *parsed < min || *parsed > kBudgetMax) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("budget: {} is a {} number", key, min > 0 ? "positive" : "whole"));
    }
    shares[std::to_underlying(*unit)] = parsed;
  }
  return shares;
}

}  // namespace

std::string_view name_of(BudgetUnit unit) {
  return name_in(kUnitNames, unit);
}
std::optional<BudgetUnit> parse_budget_unit(std::string_view name) {
  return value_in<BudgetUnit>(kUnitNames, name);
}
std::string_view name_of(BudgetPer per) {
  return name_in(kPerNames, per);
}
std::optional<BudgetPer> parse_budget_per(std::string_view name) {
  return value_in<BudgetPer>(kPerNames, name);
}
std::string_view name_of(OnBreach on_breach) {
  return name_in(kOnBreachNames, on_breach);
}
std::optional<OnBreach> parse_on_breach(std::string_view name) {
  return value_in<OnBreach>(kOnBreachNames, name);
}

std::string format_amount(BudgetUnit unit, std::int64_t amount) {
  switch (unit) {
    case BudgetUnit::kUsd:
      return format_dollars(amount) + " USD";
    case BudgetUnit::kTokens:
      return counted(amount, "token");
    case BudgetUnit::kTurns:
      return counted(amount, "turn");
    case BudgetUnit::kWall:
      return format_duration(Millis{amount});
  }
  return {};
}

Result<std::int64_t> parse_amount(BudgetUnit unit, std::string_view text) {
  std::optional<std::int64_t> amount;
  if (unit == BudgetUnit::kUsd) {
    amount = dollars(text);
  } else if (unit == BudgetUnit::kWall) {
    if (const auto wall = parse_duration(text)) amount = wall->count();
  } else {
    amount = parse_count(text);
  }
  if (!amount || *amount < 0 || *amount > kBudgetMax) return bad_amount(unit, text);
  return *amount;
}

// ---- periods

BudgetPeriod period_at(BudgetPer per, std::string_view zone, Time now, const ZoneOffset& offset) {
  if (per == BudgetPer::kNone) return {.id = std::string(kEver)};
  const std::string date = date_of(per, zone, now, offset);
  return {.id = fmt::format("{}@{}", date, zone), .ends_at = end_of(date, per, zone, now, offset)};
}

std::string_view period_name(std::string_view id) {
  return id.substr(0, id.find('@'));
}

std::vector<GateBudget> obeying(std::span<const GateBudget> kept, std::span<const Budget> wanted, Time now,
                                const ZoneOffset& offset) {
  std::vector<GateBudget> budgets;
  for (const Budget& budget : wanted) {
    GateBudget next{.budget = budget, .period = {}};
    const auto same = std::ranges::find_if(kept, [&](const GateBudget& one) {
      return one.budget.unit == budget.unit && one.budget.per == budget.per && one.budget.zone == budget.zone;
    });
    const bool goes_on =
        same != kept.end() && !same->period.id.empty() &&
        (budget.per == BudgetPer::kNone || same->period.id == period_at(budget.per, budget.zone, now, offset).id);
    next.period = goes_on ? same->period : period_at(budget.per, budget.zone, now, offset);
    if (goes_on) {
      next.raised = same->raised;
      next.breached =
          same->breached && same->budget.limit == budget.limit && same->budget.on_breach == budget.on_breach;
      if (next.breached) next.question = same->question;
    }
    if (planted(PlantedBug::kPeriodKeepsSpend) && same != kept.end() && !same->period.id.empty())
      next.period.id = same->period.id;
    budgets.push_back(std::move(next));
  }
  return budgets;
}

std::vector<QuestionId> dropped_questions(std::span<const GateBudget> before, std::span<const GateBudget> after) {
  std::vector<QuestionId> dropped;
  for (const GateBudget& one : before) {
    if (one.question && std::ranges::find(after, one.question, &GateBudget::question) == after.end()) {
      dropped.push_back(*one.question);
    }
  }
  return dropped;
}

std::int64_t percent_spent(const BudgetStatus& budget) {
  constexpr std::int64_t kAll = 100;
  return budget.limit() > 0 ? budget.spent * kAll / budget.limit() : kAll;
}

std::string spent_text(const BudgetStatus& budget) {
  const BudgetUnit unit = budget.budget.unit;
  std::string text = fmt::format("has spent {} of its budget of {}", format_amount(unit, budget.spent),
                                 format_amount(unit, budget.limit()));
  if (budget.budget.per != BudgetPer::kNone) text += fmt::format(" for {}", budget.period);
  return text;
}

bool is_used_up(const BudgetStatus& budget, std::int64_t per_run) {
  return budget.limit() - budget.spent < std::max<std::int64_t>(1, per_run);
}

// ---- asking people

std::int64_t raise_asked_for(const Budget& budget) {
  return std::clamp<std::int64_t>(budget.limit, 1, kBudgetMax);
}

Question budget_question(const QuestionId& id, const BudgetStatus& budget, Time now) {
  const BudgetUnit unit = budget.budget.unit;
  std::string text = fmt::format("{} {}", budget.gate, spent_text(budget));
  const std::string more = format_amount(unit, raise_asked_for(budget.budget));
  if (budget.resets_at) {
    text += fmt::format(". Raise it by {} until {}? Otherwise its tasks wait until then.", more,
                        format_time(*budget.resets_at));
  } else {
    text += fmt::format(". Raise it by {}? Otherwise its tasks wait until somebody raises it.", more);
  }
  QuestionSpec spec{.text = std::move(text), .options = {std::string(kRaiseOption), std::string(kStopOption)}};
  spec.key = fmt::format("budget {} per {} {}", name_of(unit), name_of(budget.budget.per), budget.period);
  const auto owner = subject_of(budget.gate, GateKind::kOwner);
  return new_gate_question(id, budget.gate, std::string(owner.value_or("")), std::move(spec), budget.resets_at, now);
}

bool is_raise(const JsonText& answer) {
  return answer == json::quote(kRaiseOption);
}

// ---- runs

std::int64_t runs_within(std::int64_t left, std::int64_t per_run) {
  if (left <= 0) return 0;
  return per_run > 0 ? std::min(left / per_run, kUnlimitedRuns) : kUnlimitedRuns;
}

std::string run_budget_json(const RunBudget& run) {
  json::Writer out;
  out.begin_object();
  write_amounts(out, "spent", run.spent);
  write_amounts(out, "granted", run.granted);
  out.key("earlier_wall_ms").number(run.earlier_wall).end_object();
  return std::move(out).take();
}

RunBudget run_budget_of(const std::optional<JsonText>& json) {
  const auto value = json ? json::parse(*json) : Result<json::Value>(json::Value());
  if (!value) return {};
  RunBudget run{.spent = read_amounts(*value, "spent"), .granted = read_amounts(*value, "granted")};
  if (const json::Value* wall = value->find("earlier_wall_ms")) run.earlier_wall = wall->as_int().value_or(0);
  return run;
}

BudgetAmounts amounts_of(const Usage& usage, Millis wall) {
  BudgetAmounts amounts{};
  amount_in(amounts, BudgetUnit::kUsd) = usage.cost.value_or(0);
  amount_in(amounts, BudgetUnit::kTokens) = token_count(usage.tokens);
  amount_in(amounts, BudgetUnit::kTurns) = usage.turns;
  amount_in(amounts, BudgetUnit::kWall) = std::max<std::int64_t>(0, wall.count());
  return amounts;
}

BudgetAmounts held_back(const BudgetAmounts& per_run, const RunBudget& run) {
  BudgetAmounts held{};
  for (std::size_t i = 0; i < held.size(); ++i) {
    held[i] = std::max<std::int64_t>(0, std::max(per_run[i], run.granted[i]) - run.spent[i]);
  }
  return held;
}

BudgetAmounts spent_by(const SpendChange& change) {
  BudgetAmounts spent{};
  for (std::size_t i = 0; i < spent.size(); ++i) spent[i] = change.after.spent[i] - change.before.spent[i];
  return spent;
}

BudgetAmounts set_aside_by(const SpendChange& change, const BudgetAmounts& per_run) {
  const BudgetAmounts before = held_back(per_run, change.before);
  const BudgetAmounts after = change.ends ? BudgetAmounts{} : held_back(per_run, change.after);
  BudgetAmounts aside{};
  for (std::size_t i = 0; i < aside.size(); ++i) aside[i] = after[i] - before[i];
  return aside;
}

void book(const SpendChange& change, const BudgetAmounts& per_run, std::span<const BudgetLimit> limits,
          BudgetUse& use) {
  const BudgetAmounts spent = spent_by(change);
  const BudgetAmounts aside = set_aside_by(change, per_run);
  std::array<bool, kBudgetUnitCount> is_counted{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    use.spent[i] = std::max<std::int64_t>(0, use.spent[i] + amount_in(spent, limits[i].unit));
    is_counted[std::to_underlying(limits[i].unit)] = true;
  }
  for (std::size_t unit = 0; unit < aside.size(); ++unit) {
    if (is_counted[unit]) use.aside[unit] = std::max<std::int64_t>(0, use.aside[unit] + aside[unit]);
  }
}

bool fits(const SpendChange& change, const BudgetAmounts& per_run, std::span<const BudgetLimit> limits,
          const BudgetUse& use) {
  BudgetUse after = use;
  book(change, per_run, limits, after);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto unit = std::to_underlying(limits[i].unit);
    const bool takes = change.after.granted[unit] > change.before.granted[unit];
    if (takes && after.left(limits, i) < 0) return false;
  }
  return true;
}

std::int64_t granted_for(std::int64_t spent, std::int64_t granted, std::int64_t per_run) {
  if (per_run <= 0 || spent <= std::max(granted, per_run)) return granted;
  return (spent + per_run - 1) / per_run * per_run;
}

SpendVerdict judge_spend(const RunBudget& before, const BudgetAmounts& spent, const BudgetAmounts& per_run,
                         std::span<const AskedGate> gates) {
  SpendVerdict verdict{.change = {.before = before, .after = before}};
  verdict.change.after.spent = spent;
  SpendChange wanted = verdict.change;
  for (std::size_t i = 0; i < spent.size(); ++i) {
    wanted.after.granted[i] = granted_for(spent[i], before.granted[i], per_run[i]);
    wanted.takes_slice = wanted.takes_slice || wanted.after.granted[i] > before.granted[i];
  }
  if (planted(PlantedBug::kSliceUnasked)) wanted.takes_slice = false;
  for (std::size_t g = 0; g < gates.size(); ++g) {
    const AskedGate& gate = gates[g];
    BudgetUse after = gate.use;
    book(wanted, per_run, gate.limits, after);
    for (std::size_t i = 0; i < gate.limits.size(); ++i) {
      const auto unit = std::to_underlying(gate.limits[i].unit);
      const bool takes = wanted.takes_slice && wanted.after.granted[unit] > before.granted[unit];
      // The last of the budget may be what was set aside for this run, which may use it up.
      const std::int64_t spent_max = gate.limits[i].limit - (per_run[unit] > 0 ? 0 : 1);
      if (after.spent[i] <= spent_max && (!takes || after.left(gate.limits, i) >= 0)) continue;
      verdict.breach = Breach{.gate = g, .budget = i};
      return verdict;
    }
  }
  verdict.change = wanted;
  return verdict;
}

std::optional<BudgetUnit> used_up(const BudgetShares& budget, const BudgetAmounts& spent) {
  for (const BudgetUnit unit : kBudgetUnits) {
    const std::optional<std::int64_t>& limit = budget[std::to_underlying(unit)];
    if (limit && amount_in(spent, unit) >= *limit) return unit;
  }
  return std::nullopt;
}

// ---- a task's own budget

Result<BudgetShares> parse_task_budget(std::string_view json) {
  return parse_shares(json, 1);
}

Result<BudgetShares> parse_budget_left(std::string_view json) {
  return parse_shares(json, 0);
}

std::string task_budget_json(const BudgetShares& budget) {
  json::Writer out;
  out.begin_object();
  for (const BudgetUnit unit : kBudgetUnits) {
    const std::optional<std::int64_t>& amount = budget[std::to_underlying(unit)];
    if (!amount) continue;
    out.key(member_of(unit));
    unit == BudgetUnit::kUsd ? out.raw(format_dollars(*amount)) : out.number(*amount);
  }
  out.end_object();
  return std::move(out).take();
}

BudgetShares left_of(const BudgetShares& budget, const BudgetAmounts& spent) {
  BudgetShares left{};
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::optional<std::int64_t>& amount = budget[i];
    if (amount) left[i] = std::max<std::int64_t>(0, *amount - spent[i]);
  }
  return left;
}

void take_smaller(std::optional<std::int64_t>& smallest, std::int64_t amount) {
  smallest = std::min(smallest.value_or(amount), amount);
}

std::vector<GateBudget> tree_budgets(const BudgetShares& shares) {
  std::vector<GateBudget> budgets;
  for (const BudgetUnit unit : kBudgetUnits) {
    const std::optional<std::int64_t>& limit = shares[std::to_underlying(unit)];
    if (!limit) continue;
    budgets.push_back({.budget = {.unit = unit, .limit = *limit}, .period = {.id = std::string(kEver), .ends_at = {}}});
  }
  return budgets;
}

}  // namespace drover
