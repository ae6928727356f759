// The ledger: what agents used, by day, owner, type, runner and model. It outlives the tasks, so a month's bill is
// there when they are gone. Everything in it is a sum of whole numbers: a store adds, and needs to know nothing else.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/task.h"
#include "drover/usage.h"

namespace drover {

struct AmountField {
  std::string_view name;
  std::int64_t& (*of)(UsageAmounts&);
};
// In the order in which stores keep them.
inline constexpr std::array<AmountField, 11> kAmountFields{{
    {"input_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.tokens.input; }},
    {"cached_input_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.tokens.cached_input; }},
    {"cache_write_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.tokens.cache_write; }},
    {"output_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.tokens.output; }},
    {"reasoning_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.tokens.reasoning; }},
    {"turns", [](UsageAmounts& a) -> std::int64_t& { return a.turns; }},
    {"tool_calls", [](UsageAmounts& a) -> std::int64_t& { return a.tool_calls; }},
    {"runs", [](UsageAmounts& a) -> std::int64_t& { return a.runs; }},
    {"reported_cost", [](UsageAmounts& a) -> std::int64_t& { return a.reported_cost; }},
    {"table_cost", [](UsageAmounts& a) -> std::int64_t& { return a.table_cost; }},
    {"unpriced_tokens", [](UsageAmounts& a) -> std::int64_t& { return a.unpriced_tokens; }},
}};
using AmountNumbers = std::array<std::int64_t, kAmountFields.size()>;
[[nodiscard]] AmountNumbers numbers_of(UsageAmounts amounts);
[[nodiscard]] UsageAmounts amounts_of(const AmountNumbers& numbers);
void add(UsageAmounts& to, const UsageAmounts& more);

// What an amount is booked under.
struct LedgerKey {
  std::string day{};  // "2026-11-18", UTC
  std::string owner{};
  std::string type{};
  std::string runner{};
  std::string model{};
  std::string error_class{};  // of runs that have ended: their class, or "completed" and the like; else empty

  std::string tag{};  // only in sums over tasks

  auto operator<=>(const LedgerKey&) const = default;
};
[[nodiscard]] const std::string& name_in(const LedgerKey& key, UsageDimension dimension);

struct LedgerEntry {
  LedgerKey key{};
  UsageAmounts amounts{};

  bool operator==(const LedgerEntry&) const = default;
};

// What a run's usage has become, less what was booked of it before. An amount may be negative: the agent has corrected
// itself.
[[nodiscard]] std::vector<LedgerEntry> booked(const LedgerKey& under, const Usage& before, const Usage& now);

// All of it in one.
[[nodiscard]] UsageAmounts amounts_of(const Usage& usage);

[[nodiscard]] std::string day_of(Time time);
[[nodiscard]] bool is_day(std::string_view text);

// "day,owner"; kInvalidArgument lists those that there are.
[[nodiscard]] Result<std::vector<UsageDimension>> parse_usage_dimensions(std::string_view list);
[[nodiscard]] std::string join_names(std::span<const UsageDimension> dimensions);
// What rows by these dimensions can tell: usage is booked without the class in which a run will end, and runs without a
// model; tags are of tasks.
[[nodiscard]] bool tells_usage(std::span<const UsageDimension> by);
[[nodiscard]] bool tells_runs(std::span<const UsageDimension> by);
// kInvalidArgument: no dimension, one twice, a day that is none, or an owner or a type that is no name.
[[nodiscard]] Status check_usage_query(const UsageQuery& query);
// The rows of a query, from entries in any order. kInvalidArgument if there are more than kUsageRowsMax.
class UsageSum {
 public:
  explicit UsageSum(const UsageQuery& query) : query_(query) {}

  [[nodiscard]] Status add(const LedgerEntry& entry);
  [[nodiscard]] std::vector<UsageRow> take() &&;  // by their names

 private:
  const UsageQuery& query_;
  std::map<std::vector<std::string>, UsageAmounts> rows_;
};

}  // namespace drover
