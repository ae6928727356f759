#include "store/redis/spend_text.h"

#include <fmt/format.h>

#include <charconv>
#include <ranges>

namespace drover::redis {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

BudgetUse parse_budget_use(std::string_view text) {
  BudgetUse use;
  std::size_t i = 0;
  for (const auto word : std::views::split(text, ' ')) {
    if (word.empty()) continue;
    const std::int64_t number = number_in({word.begin(), word.end()});
    if (i < use.aside.size()) {
      use.aside[i] = number;
    } else {
      use.spent.push_back(number);
    }
    ++i;
  }
  return use;
}

std::optional<SpendEntry> parse_spend_field(std::string_view field, std::string_view amount) {
  const std::size_t first = field.find('|');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = field.find('|', first + 1);
  const auto unit =
      parse_budget_unit(field.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
  if (!unit) return std::nullopt;
  return SpendEntry{.gate = std::string(field.substr(0, first)),
                    .unit = *unit,
                    .period = second == std::string_view::npos ? "" : std::string(field.substr(second + 1)),
                    .amount = number_in(amount)};
}

Pack packed_spend(std::span<const SpendEntry> spend) {
  Pack pack;
  for (const SpendEntry& entry : spend) {
    if (entry.period.empty()) continue;
    pack.put(fmt::format("{}|{}|{}", entry.gate, name_of(entry.unit), entry.period)).put(std::to_string(entry.amount));
  }
  return pack;
}

}  // namespace drover::redis
