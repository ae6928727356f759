// Arithmetic of what agents used: sums, differences, prices, JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "drover/error.h"
#include "drover/usage.h"

namespace drover {

// Stops at the largest number.
[[nodiscard]] std::int64_t sum(std::int64_t a, std::int64_t b);
// As providers bill them: reasoning is not counted beside the output.
[[nodiscard]] std::int64_t token_count(const TokenCounts& tokens);
// Whose cost nobody knows: a cost is what is known of it, and this is what it leaves out. All of it is known if this is
// 0. Tasks, runs and the ledger all show the two together.
[[nodiscard]] std::int64_t unpriced_tokens(const ModelUsage& used);
[[nodiscard]] std::int64_t unpriced_tokens(const Usage& used);

// One part from the table makes the sum's basis the table.
[[nodiscard]] Usage operator+(const Usage& a, const Usage& b);
// What is known of a run that has said both, in whichever order: the larger of each number. A cost that the agent has
// reported takes the place of one from the table.
[[nodiscard]] Usage most_of(Usage known, Usage said);
// What was used between two cumulative totals of the same counter, field by field. A field that went down means that
// the counter began again: it counts whole.
[[nodiscard]] Usage used_since(const Usage& total, const Usage& earlier);

// {"input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "turns",
// "tool_calls",
//  "cost_usd", "unpriced_tokens", "cost_basis", "models": {NAME: {the five counts, "cost_usd", "unpriced_tokens"}}}
[[nodiscard]] std::string usage_json(const Usage& usage);
[[nodiscard]] Status read_json(std::string_view json, Usage& out);
// By a caller, who may not say more than we know; what we have stored may be of a newer program.
template <class T>
struct Said {
  T what{};
};
[[nodiscard]] Status read_json(std::string_view json, Said<Usage>& out);
// kInvalidArgument: no run uses that.
[[nodiscard]] Status check_usage(const Usage& usage);
// Cuts what an agent says to what check_usage takes: a run must not be lost because its agent made up a number.
[[nodiscard]] Usage within_bounds(Usage usage);

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
