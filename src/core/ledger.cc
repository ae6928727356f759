#include "core/ledger.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/names.h"
#include "core/spec_check.h"
#include "core/usage.h"

namespace drover {
namespace {

constexpr Names<kUsageDimensionCount> kDimensionNames{"day", "owner", "type", "runner", "model", "class", "tag"};

// The model with the most output. It also gets turns, tool calls and anything that the agent did not assign to a model.
std::string main_model(const Usage& usage) {
  std::string_view main;
  std::int64_t most = -1;
  for (const auto& [name, model] : usage.models) {
    if (model.tokens.output <= most) continue;
    most = model.tokens.output;
    main = name;
  }
  return std::string(main);
}

template <class Used>
UsageAmounts tokens_and_cost(const Used& used, std::optional<CostBasis> basis) {
  UsageAmounts amounts{.tokens = used.tokens, .unpriced_tokens = unpriced_tokens(used)};
  (basis == CostBasis::kTable ? amounts.table_cost : amounts.reported_cost) = used.cost.value_or(0);
  return amounts;
}

UsageAmounts negative(const UsageAmounts& amounts) {
  AmountNumbers numbers = numbers_of(amounts);
  for (std::int64_t& number : numbers) number = -number;
  return amounts_of(numbers);
}

bool has(std::span<const UsageDimension> by, UsageDimension dimension) {
  return std::ranges::find(by, dimension) != by.end();
}

std::unexpected<Error> refuse_by(std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}; choose among {}", why, fmt::join(kDimensionNames, ", ")));
}

std::map<std::string, UsageAmounts> by_model(const Usage& usage) {
  std::map<std::string, UsageAmounts> rows;
  if (usage.is_empty()) return rows;
  UsageAmounts rest = amounts_of(usage);
  for (const auto& [name, model] : usage.models) {
    UsageAmounts& row = rows[name] = tokens_and_cost(model, usage.basis);
    // A cost that the agent has not divided among its models covers them all.
    row.unpriced_tokens = std::min(row.unpriced_tokens, rest.unpriced_tokens);
    add(rest, negative(row));
  }
  add(rows[main_model(usage)], rest);
  return rows;
}

}  // namespace

std::string_view name_of(UsageDimension dimension) {
  return name_in(kDimensionNames, dimension);
}

std::optional<UsageDimension> parse_usage_dimension(std::string_view name) {
  return value_in<UsageDimension>(kDimensionNames, name);
}

AmountNumbers numbers_of(UsageAmounts amounts) {
  AmountNumbers numbers{};
  for (std::size_t i = 0; i < kAmountFields.size(); ++i) numbers[i] = kAmountFields[i].of(amounts);
  return numbers;
}

UsageAmounts amounts_of(const AmountNumbers& numbers) {
  UsageAmounts amounts;
  for (std::size_t i = 0; i < kAmountFields.size(); ++i) kAmountFields[i].of(amounts) = numbers[i];
  return amounts;
}

void add(UsageAmounts& to, const UsageAmounts& more) {
  const AmountNumbers added = numbers_of(more);
  for (std::size_t i = 0; i < kAmountFields.size(); ++i) {
    std::int64_t& number = kAmountFields[i].of(to);
    number = sum(number, added[i]);
  }
}

const std::string& name_in(const LedgerKey& key, UsageDimension dimension) {
  const std::array<const std::string*, kUsageDimensionCount> names{&key.day,   &key.owner,       &key.type, &key.runner,
                                                                   &key.model, &key.error_class, &key.tag};
  return *names.at(std::to_underlying(dimension));
}

std::vector<LedgerEntry> booked(const LedgerKey& under, const Usage& before, const Usage& now) {
  std::map<std::string, UsageAmounts> rows = by_model(now);
  for (const auto& [model, amounts] : by_model(before)) add(rows[model], negative(amounts));
  std::vector<LedgerEntry> entries;
  for (const auto& [model, amounts] : rows) {
    if (amounts == UsageAmounts{}) continue;
    LedgerEntry& entry = entries.emplace_back(LedgerEntry{.key = under, .amounts = amounts});
    entry.key.model = model;
  }
  return entries;
}

UsageAmounts amounts_of(const Usage& usage) {
  UsageAmounts amounts = tokens_and_cost(usage, usage.basis);
  amounts.turns = usage.turns;
  amounts.tool_calls = usage.tool_calls;
  return amounts;
}

std::string day_of(Time time) {
  return fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::days>(time));
}

bool is_day(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  const auto fits = [](char form, char c) { return form == 'd' ? c >= '0' && c <= '9' : c == form; };
  if (!std::ranges::equal(kForm, text, fits)) return false;
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  return (std::chrono::year(number(0, 4)) / number(5, 2) / number(8, 2)).ok();
}

Result<std::vector<UsageDimension>> parse_usage_dimensions(std::string_view list) {
  std::vector<UsageDimension> dimensions;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, end);
    const auto dimension = parse_usage_dimension(name);
    if (!dimension) return refuse_by(fmt::format("by {} is unknown", quoted_excerpt(name)));
    dimensions.push_back(*dimension);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return dimensions;
}

bool tells_usage(std::span<const UsageDimension> by) {
  return !has(by, UsageDimension::kClass);
}

bool tells_runs(std::span<const UsageDimension> by) {
  return !has(by, UsageDimension::kModel) && !has(by, UsageDimension::kTag);
}

std::string join_names(std::span<const UsageDimension> dimensions) {
  std::string list;
  for (const UsageDimension dimension : dimensions) {
    if (!list.empty()) list += ',';
    list += name_of(dimension);
  }
  return list;
}

Status check_usage_query(const UsageQuery& query) {
  if (query.by.empty()) return refuse_by("by is empty");
  std::vector<UsageDimension> sorted = query.by;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("by {} is said twice", name_of(*twice)));
  }
  const auto is_of_tasks = [](UsageDimension dimension) {
    return dimension == UsageDimension::kTag || dimension == UsageDimension::kOwner ||
           dimension == UsageDimension::kType || dimension == UsageDimension::kRunner;
  };
  const bool by_tag = has(query.by, UsageDimension::kTag);
  if (by_tag && (!std::ranges::all_of(query.by, is_of_tasks) || !query.from.empty() || !query.to.empty())) {
    return fail(
        ErrorCode::kInvalidArgument,
        "tag goes only with owner, type and runner, and without from and to: it adds up the tasks that still exist, "
        "because the ledger does not record tags");
  }
  if (has(query.by, UsageDimension::kClass) && has(query.by, UsageDimension::kModel)) {
    return fail(ErrorCode::kInvalidArgument,
                "class and model do not go together: a run has one class and may use several models");
  }
  for (const std::string* day : {&query.from, &query.to}) {
    if (!day->empty() && !is_day(*day)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is not a day; write it as 2026-11-18", quoted_excerpt(*day)));
    }
  }
  for (const auto& [field, name] : {std::pair{"owner", &query.owner}, {"type", &query.type}}) {
    if (const Status good = *name ? check_name(**name) : Status(); !good) return at_field(field, good.error());
  }
  return {};
}

Status UsageSum::add(const LedgerEntry& entry) {
  if (query_.owner && entry.key.owner != *query_.owner) return {};
  if (query_.type && entry.key.type != *query_.type) return {};
  std::vector<std::string> names;
  for (const UsageDimension dimension : query_.by) {
    names.push_back(name_in(entry.key, dimension));
    // Usage is booked without a class, and run counts without a model. Skip entries that lack the dimension.
    const bool is_model = dimension == UsageDimension::kModel;
    if ((is_model && entry.amounts.runs != 0) || (dimension == UsageDimension::kClass && names.back().empty()))
      return {};
  }
  drover::add(rows_[std::move(names)], entry.amounts);
  if (rows_.size() <= kUsageRowsMax) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the answer has more than {} rows; ask for fewer days or fewer dimensions", kUsageRowsMax));
}

std::vector<UsageRow> UsageSum::take() && {
  std::vector<UsageRow> rows;
  for (auto& [names, amounts] : rows_) {
    if (amounts == UsageAmounts{}) continue;
    UsageRow& row = rows.emplace_back(UsageRow{.amounts = amounts});
    for (std::size_t i = 0; i < names.size(); ++i) row.names[query_.by[i]] = names[i];
  }
  return rows;
}

}  // namespace drover
