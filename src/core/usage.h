// What agents used and what it cost. Money is whole micro-dollars: sums are exact, and equal on every store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "drover/error.h"

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

// Unset cost: nobody knows it.
struct ModelUsage {
  TokenCounts tokens{};
  std::optional<MicroDollars> cost{};

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
  std::optional<MicroDollars> cost{};
  std::optional<CostBasis> basis{};  // set with cost
  std::map<std::string, ModelUsage, std::less<>> models{};

  bool operator==(const Usage&) const = default;
  [[nodiscard]] bool is_empty() const { return *this == Usage{}; }
};

// Sums stop at the largest number. A cost that one of them lacks is missing from the sum only if that one used tokens;
// one part from the table makes the sum's basis the table.
[[nodiscard]] Usage operator+(const Usage& a, const Usage& b);
// What was used between two cumulative totals of the same counter, field by field. A field that went down means that
// the counter began again: it counts whole.
[[nodiscard]] Usage used_since(const Usage& total, const Usage& earlier);

// {"input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "turns",
// "tool_calls",
//  "cost_usd", "cost_basis", "models": {NAME: {the five counts, "cost_usd"}}}
[[nodiscard]] std::string usage_json(const Usage& usage);
[[nodiscard]] Status read_json(std::string_view json, Usage& out);

// "0.024", "0", "12.000001": exact, without trailing zeros.
[[nodiscard]] std::string format_dollars(MicroDollars amount);
// The text of a JSON number of dollars, to the nearest micro-dollar. Nothing if it is negative or too large to be
// money.
[[nodiscard]] std::optional<MicroDollars> dollars(std::string_view json_number);

// Dollars per million tokens, as micro-dollars; a price that is not set is that of input.
struct ModelPrice {
  MicroDollars input = 0;
  std::optional<MicroDollars> cached_input{};
  std::optional<MicroDollars> cache_write{};
  MicroDollars output = 0;

  bool operator==(const ModelPrice&) const = default;
};
using PriceTable = std::map<std::string, ModelPrice, std::less<>>;

// Fills in the cost from the table where the agent reported none and every model that was used has a price.
[[nodiscard]] Usage priced(Usage usage, const PriceTable& prices);

}  // namespace drover
