#include "core/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<2> kBasisNames{"reported", "table"};
constexpr MicroDollars kMicrosPerDollar = 1'000'000;
constexpr double kDollarsMax = 1e9;  // nobody spends more, and a double is exact to the micro-dollar below it
constexpr std::size_t kModelsMax = 1'000;

struct CountField {
  std::string_view name;
  std::int64_t TokenCounts::* member;
};
constexpr std::array<CountField, 5> kCounts{{
    {"input_tokens", &TokenCounts::input},
    {"cached_input_tokens", &TokenCounts::cached_input},
    {"cache_write_tokens", &TokenCounts::cache_write},
    {"output_tokens", &TokenCounts::output},
    {"reasoning_tokens", &TokenCounts::reasoning},
}};

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a, b, &total) ? std::numeric_limits<std::int64_t>::max() : total;
}

TokenCounts sum(const TokenCounts& a, const TokenCounts& b) {
  TokenCounts total;
  for (const CountField& field : kCounts) total.*field.member = sum(a.*field.member, b.*field.member);
  return total;
}

// What is unknown of one that used nothing is nothing.
template <class Used>
std::optional<MicroDollars> sum_of_costs(const Used& a, const Used& b) {
  if (a.cost && b.cost) return sum(*a.cost, *b.cost);
  if (!a.cost && a.tokens == TokenCounts{}) return b.cost;
  if (!b.cost && b.tokens == TokenCounts{}) return a.cost;
  return std::nullopt;
}

bool went_down(const TokenCounts& total, const TokenCounts& earlier) {
  return std::ranges::any_of(kCounts,
                             [&](const CountField& field) { return total.*field.member < earlier.*field.member; });
}

template <class Used>
bool began_again(const Used& total, const Used& earlier) {
  return went_down(total.tokens, earlier.tokens) || (total.cost && earlier.cost && *total.cost < *earlier.cost);
}

template <class Used>
void take_off(Used& total, const Used& earlier) {
  for (const CountField& field : kCounts) total.tokens.*field.member -= earlier.tokens.*field.member;
  if (total.cost && earlier.cost) *total.cost -= *earlier.cost;
}

void write_counts(json::Writer& writer, const TokenCounts& tokens) {
  for (const CountField& field : kCounts) writer.key(field.name).number(tokens.*field.member);
}

void write_cost(json::Writer& writer, const std::optional<MicroDollars>& cost) {
  writer.key("cost_usd");
  if (cost) {
    writer.raw(format_dollars(*cost));
  } else {
    writer.null();
  }
}

// No agent uses more, and sums of such counts stay whole numbers in every store.
constexpr std::int64_t kCountMax = 1'000'000'000'000;

struct Count {
  std::int64_t value = 0;
};
Status read_json(std::string_view json, Count& out) {
  Status read = json::read_json(json, out.value);
  if (read && (out.value < 0 || out.value > kCountMax)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("a count must be between 0 and {}", kCountMax));
  }
  return read;
}

struct Cost {
  MicroDollars value = 0;
};
Status read_json(std::string_view json, Cost& out) {
  const auto value = dollars(json);
  if (!value) return fail(ErrorCode::kInvalidArgument, "expected an amount of dollars");
  out.value = *value;
  return {};
}

void get_tokens_and_cost(json::Reader& in, TokenCounts& tokens, std::optional<MicroDollars>& cost) {
  for (const CountField& field : kCounts) {
    Count count;
    in.get(field.name, count);
    tokens.*field.member = count.value;
  }
  std::optional<Cost> read;
  in.get("cost_usd", read);
  if (read) cost = read->value;
}

Status read_json(std::string_view json, ModelUsage& out) {
  json::Reader in(json);
  get_tokens_and_cost(in, out.tokens, out.cost);
  return in.finish();
}

Status read_models(std::string_view json, std::map<std::string, ModelUsage, std::less<>>& out) {
  const auto parsed = TRY(json::parse(json, json::kDepthMax, kModelsMax));
  const json::Value::Object* members = parsed.as_object();
  if (members == nullptr) return fail(ErrorCode::kInvalidArgument, "models: expected an object");
  for (const auto& [name, value] : *members) {
    Status read = read_json(json::dump(value), out[name]);
    if (!read) return read;
  }
  return {};
}

// Exact while the product of tokens and micro-dollars has no more than 64 bits.
MicroDollars cost_of(const TokenCounts& tokens, const ModelPrice& price) {
  const auto times = [](std::int64_t count, MicroDollars per_million) {
    return static_cast<long double>(count) * static_cast<long double>(per_million);
  };
  const long double total =
      times(tokens.input, price.input) + times(tokens.cached_input, price.cached_input.value_or(price.input)) +
      times(tokens.cache_write, price.cache_write.value_or(price.input)) + times(tokens.output, price.output);
  constexpr long double kMax = kDollarsMax * kMicrosPerDollar;
  return std::llround(std::min(total / kMicrosPerDollar, kMax));
}

}  // namespace

std::string_view name_of(CostBasis basis) {
  return name_in(kBasisNames, basis);
}

std::optional<CostBasis> parse_cost_basis(std::string_view name) {
  return value_in<CostBasis>(kBasisNames, name);
}

Usage operator+(const Usage& a, const Usage& b) {
  Usage total{.tokens = sum(a.tokens, b.tokens),
              .turns = sum(a.turns, b.turns),
              .tool_calls = sum(a.tool_calls, b.tool_calls),
              .cost = sum_of_costs(a, b),
              .models = a.models};
  if (total.cost) {
    const bool from_table = a.basis == CostBasis::kTable || b.basis == CostBasis::kTable;
    total.basis = from_table ? CostBasis::kTable : CostBasis::kReported;
  }
  for (const auto& [name, used] : b.models) {
    ModelUsage& model = total.models[name];
    model = {.tokens = sum(model.tokens, used.tokens), .cost = sum_of_costs(model, used)};
  }
  return total;
}

Usage used_since(const Usage& total, const Usage& earlier) {
  if (began_again(total, earlier)) return total;
  Usage used = total;
  take_off(used, earlier);
  used.turns = std::max<std::int64_t>(used.turns - earlier.turns, 0);
  used.tool_calls = std::max<std::int64_t>(used.tool_calls - earlier.tool_calls, 0);
  for (const auto& [name, before] : earlier.models) {
    const auto model = used.models.find(name);
    if (model == used.models.end() || began_again(model->second, before)) continue;
    take_off(model->second, before);
    if (model->second.tokens == TokenCounts{} && model->second.cost.value_or(0) == 0) used.models.erase(model);
  }
  return used;
}

std::string usage_json(const Usage& usage) {
  json::Writer writer;
  writer.begin_object();
  write_counts(writer, usage.tokens);
  writer.key("turns").number(usage.turns).key("tool_calls").number(usage.tool_calls);
  write_cost(writer, usage.cost);
  writer.key("cost_basis");
  if (usage.basis) {
    writer.string(name_of(*usage.basis));
  } else {
    writer.null();
  }
  writer.key("models").begin_object();
  for (const auto& [name, model] : usage.models) {
    writer.key(name).begin_object();
    write_counts(writer, model.tokens);
    write_cost(writer, model.cost);
    writer.end_object();
  }
  writer.end_object().end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, Usage& out) {
  json::Reader in(json);
  Usage usage;
  get_tokens_and_cost(in, usage.tokens, usage.cost);
  Count turns;
  Count tool_calls;
  json::Unread models;
  std::string basis;
  in.get("turns", turns).get("tool_calls", tool_calls).get("cost_basis", basis).get("models", models);
  Status read = in.finish();
  if (!read) return read;
  usage.basis = parse_cost_basis(basis);
  usage.turns = turns.value;
  usage.tool_calls = tool_calls.value;
  if (usage.cost.has_value() != usage.basis.has_value()) {
    return fail(ErrorCode::kInvalidArgument,
                "cost_usd comes with a cost_basis of reported or table, and neither without the other");
  }
  if (!models.text.empty()) read = read_models(models.text, usage.models);
  if (read) out = std::move(usage);
  return read;
}

std::string format_dollars(MicroDollars amount) {
  if (amount < 0)
    return "-" + format_dollars(amount == std::numeric_limits<MicroDollars>::min()
                                    ? std::numeric_limits<MicroDollars>::max()
                                    : -amount);
  std::string text = fmt::format("{}.{:06}", amount / kMicrosPerDollar, amount % kMicrosPerDollar);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::optional<MicroDollars> dollars(std::string_view json_number) {
  double amount = 0;
  const char* end = json_number.data() + json_number.size();
  const auto [stop, error] = std::from_chars(json_number.data(), end, amount);
  if (error != std::errc{} || stop != end || !(amount >= 0 && amount <= kDollarsMax)) return std::nullopt;
  return std::llround(amount * static_cast<double>(kMicrosPerDollar));
}

Usage priced(Usage usage, const PriceTable& prices) {
  if (usage.cost || usage.models.empty()) return usage;
  Usage with_costs = usage;
  MicroDollars total = 0;
  for (auto& [name, model] : with_costs.models) {
    const auto price = prices.find(name);
    if (price == prices.end()) return usage;
    model.cost = cost_of(model.tokens, price->second);
    total = sum(total, *model.cost);
  }
  with_costs.cost = total;
  with_costs.basis = CostBasis::kTable;
  return with_costs;
}

}  // namespace drover
