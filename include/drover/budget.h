// Budgets: how much may be spent behind a gate in a day, in a month or at all, and how much one task may spend.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/error.h"
#include "drover/time.h"

namespace drover {

enum class BudgetUnit : std::uint8_t {
  kUsd,     // counted in micro-dollars
  kTokens,  // as providers bill them
  kTurns,   // requests that a model answered
  kWall,    // how long runs took, in milliseconds
};
inline constexpr int kBudgetUnitCount = 4;
inline constexpr std::array kBudgetUnits{BudgetUnit::kUsd, BudgetUnit::kTokens, BudgetUnit::kTurns, BudgetUnit::kWall};
[[nodiscard]] std::string_view name_of(BudgetUnit unit);
[[nodiscard]] std::optional<BudgetUnit> parse_budget_unit(std::string_view name);

// A whole number of each unit.
using BudgetAmounts = std::array<std::int64_t, kBudgetUnitCount>;
[[nodiscard]] constexpr std::int64_t& amount_in(BudgetAmounts& amounts, BudgetUnit unit) {
  return amounts[std::to_underlying(unit)];
}
[[nodiscard]] constexpr std::int64_t amount_in(const BudgetAmounts& amounts, BudgetUnit unit) {
  return amounts[std::to_underlying(unit)];
}
// The same where a unit may be unset.
using BudgetShares = std::array<std::optional<std::int64_t>, kBudgetUnitCount>;

// The largest amount that anybody may set: a billion dollars. Redis counts in numbers that hold nine times as much
// exactly.
inline constexpr std::int64_t kBudgetMax = 1'000'000'000'000'000;

// "20 USD", "5000000 tokens", "80 turns", "45m": as people read it.
[[nodiscard]] std::string format_amount(BudgetUnit unit, std::int64_t amount);
// "20" or "0.5" dollars, "5000000", "500k", "5M" or "1B" tokens or turns, "45m" of wall time.
[[nodiscard]] Result<std::int64_t> parse_amount(BudgetUnit unit, std::string_view text);

enum class BudgetPer : std::uint8_t { kNone, kDay, kMonth };
[[nodiscard]] std::string_view name_of(BudgetPer per);
[[nodiscard]] std::optional<BudgetPer> parse_budget_per(std::string_view name);

// What becomes of the runs behind a gate whose budget is used up.
enum class OnBreach : std::uint8_t {
  kPause,  // they wait at the gate until the next period, or until somebody raises the budget
  kAsk,    // the same, and a person is asked
  kFail,   // they fail with the class budget_exceeded
};
[[nodiscard]] std::string_view name_of(OnBreach on_breach);
[[nodiscard]] std::optional<OnBreach> parse_on_breach(std::string_view name);

// As the policy says it.
struct Budget {
  BudgetUnit unit = BudgetUnit::kUsd;
  std::int64_t limit = 0;
  BudgetPer per = BudgetPer::kNone;
  std::string zone = "UTC";  // whose days and months count
  OnBreach on_breach = OnBreach::kPause;

  bool operator==(const Budget&) const = default;
};

// A budget as operators see it.
struct BudgetStatus {
  std::string gate{};
  Budget budget{};                  // its limit without what it was raised by
  std::int64_t raised = 0;          // by hand, in this period
  std::int64_t spent = 0;           // in this period
  std::int64_t aside = 0;           // set aside for runs that go on
  std::string period{};             // "2026-11-18", "2026-11", or "all"
  std::optional<Time> resets_at{};  // when the next period begins
  bool breached = false;            // a run was stopped for it in this period
  bool uncertain = false;           // the store lost something in this period: more may have been spent

  [[nodiscard]] std::int64_t limit() const { return budget.limit + raised; }
  [[nodiscard]] std::int64_t left() const { return limit() - spent - aside; }
  bool operator==(const BudgetStatus&) const = default;
};

// By how much an operator raises a budget for the rest of its period.
struct RaiseOrder {
  std::string gate{};
  BudgetUnit unit = BudgetUnit::kUsd;
  std::int64_t by_amount = 0;
  std::optional<BudgetPer> per{};  // which, if the gate has several in this unit
  std::string by{};
  std::string why{};
};

// What a run is told that has used up a budget: to stop now.
struct BudgetStop {
  std::string gate{};  // empty: the task's own budget
  BudgetUnit unit = BudgetUnit::kUsd;
  OnBreach on_breach = OnBreach::kFail;
  std::string why{};  // a sentence for people

  bool operator==(const BudgetStop&) const = default;
};

// The answer to what a run says of itself.
struct ReportAnswer {
  std::optional<BudgetStop> stop{};

  bool operator==(const ReportAnswer&) const = default;
};

}  // namespace drover
