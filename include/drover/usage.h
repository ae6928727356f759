// What agents used and what it cost, and where an agent's session stands. Money is whole micro-dollars: sums are exact,
// and equal on every store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

// Counts as the provider's agent reports them. `input` has no cached tokens in it; `reasoning` is a part of `output`
// with Claude and Codex, and beside it with opencode.
struct TokenCounts {
  std::int64_t input = 0;
  std::int64_t cached_input = 0;
  std::int64_t cache_write = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;

  bool operator==(const TokenCounts&) const = default;
};

using MicroDollars = std::int64_t;

struct ModelUsage {
  TokenCounts tokens{};
  std::optional<MicroDollars> cost{};  // as far as it is known; unset: nobody knows any of it
  std::int64_t unpriced_tokens = 0;    // with a cost: how many tokens it leaves out. Without one it leaves out all

  bool operator==(const ModelUsage&) const = default;
};

enum class CostBasis : std::uint8_t {
  kReported,  // the agent said it
  kTable,     // tokens times the policy's prices
};
[[nodiscard]] std::string_view name_of(CostBasis basis);
[[nodiscard]] std::optional<CostBasis> parse_cost_basis(std::string_view name);

struct Usage {
  TokenCounts tokens{};
  std::int64_t turns = 0;  // requests that a model answered
  std::int64_t tool_calls = 0;
  std::optional<MicroDollars> cost{};  // this and unpriced_tokens as with one model
  std::optional<CostBasis> basis{};    // set with cost
  std::int64_t unpriced_tokens = 0;
  std::map<std::string, ModelUsage, std::less<>> models{};

  bool operator==(const Usage&) const = default;
  [[nodiscard]] bool is_empty() const { return *this == Usage{}; }
};

// Where an agent's session stands, so that a later run can go on with it.
struct AgentState {
  std::string preset{};
  std::string session_id{};  // empty: the agent has not said one
  std::string host{};        // where the session is kept
  std::string workspace{};   // the folder it works in; empty: the worker's own
  std::string model{};       // that the run was told to use; empty: the agent's choice
  bool resumed = false;      // the run goes on with the session of an earlier one
  Usage session_totals{};    // over all runs of the session, as the agent counts

  bool operator==(const AgentState&) const = default;
};

// What an amount of usage is booked under. The ledger outlives the tasks.
enum class UsageDimension : std::uint8_t {
  kDay,
  kOwner,
  kType,
  kRunner,
  kModel,
  kClass,  // how runs ended
  kTag,    // not in the ledger: of tasks that are still there; alone, or with owner, type and runner
};
inline constexpr int kUsageDimensionCount = 7;
[[nodiscard]] std::string_view name_of(UsageDimension dimension);  // "day", "owner", and so on
[[nodiscard]] std::optional<UsageDimension> parse_usage_dimension(std::string_view name);

struct UsageAmounts {
  TokenCounts tokens{};
  std::int64_t turns = 0;
  std::int64_t tool_calls = 0;
  std::int64_t runs = 0;             // that have ended
  MicroDollars reported_cost = 0;    // that agents said
  MicroDollars table_cost = 0;       // tokens times the policy's prices
  std::int64_t unpriced_tokens = 0;  // whose cost nobody knows

  bool operator==(const UsageAmounts&) const = default;
};

struct UsageQuery {
  std::vector<UsageDimension> by{};  // at least one
  std::string from{};                // "2026-11-18", UTC; empty: since the ledger began
  std::string to{};                  // that day included; empty: until today
  std::optional<std::string> owner{};
  std::optional<std::string> type{};
};

struct UsageRow {
  std::map<UsageDimension, std::string> names{};  // of each dimension that was asked for
  UsageAmounts amounts{};

  bool operator==(const UsageRow&) const = default;
};
inline constexpr std::size_t kUsageRowsMax = 10'000;

}  // namespace drover
