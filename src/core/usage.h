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
