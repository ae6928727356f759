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
#include "core/spec_check.h"

namespace drover {
namespace {

constexpr Names<2> kBasisNames{"reported", "table"};
constexpr MicroDollars kMicrosPerDollar = 1'000'000;
constexpr double kDollarsMax = 1e9;  // nobody spends more, and a double is exact to the micro-dollar below it
constexpr std::size_t kModelsMax = 1'000;
constexpr std::size_t kModelsOfRunMax = 100;
// No agent uses more, and sums of such counts stay whole numbers in every store.
constexpr std::int64_t kCountMax = 1'000'000'000'000;

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

constexpr MicroDollars kCostMax = static_cast<MicroDollars>(kDollarsMax) * kMicrosPerDollar;

TokenCounts sum_tokens(const TokenCounts& a, const TokenCounts& b) {
  TokenCounts total;
  for (const CountField& field : kCounts) total.*field.member = sum(a.*field.member, b.*field.member);
  return total;
}

// Of a total whose tokens are added up already.
template <class Used>
void sum_costs(Used& total, const Used& a, const Used& b) {
  if (!a.cost && !b.cost) return;
  total.cost = std::min(sum(a.cost.value_or(0), b.cost.value_or(0)), kCostMax);
  total.unpriced_tokens = sum(unpriced_tokens(a), unpriced_tokens(b));
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
  if (!total.cost) return;
  *total.cost -= earlier.cost.value_or(0);
  total.unpriced_tokens = std::min(total.unpriced_tokens, token_count(total.tokens));
}

template <class Used>
void raise(Used& known, const Used& said) {
  const auto priced_tokens = [](const Used& used) { return token_count(used.tokens) - unpriced_tokens(used); };
  const std::int64_t most_priced = std::max(priced_tokens(known), priced_tokens(said));
  for (const CountField& field : kCounts) {
    known.tokens.*field.member = std::max(known.tokens.*field.member, said.tokens.*field.member);
  }
  known.cost = std::max(known.cost, said.cost);
  known.unpriced_tokens = known.cost ? token_count(known.tokens) - most_priced : 0;
}

void forget_cost(Usage& usage) {
  usage.cost.reset();
  usage.basis.reset();
  usage.unpriced_tokens = 0;
  for (auto& [name, model] : usage.models) model = {.tokens = model.tokens};
}

template <class Used>
void write_tokens(json::Writer& writer, const Used& used) {
  for (const CountField& field : kCounts) writer.key(field.name).number(used.tokens.*field.member);
}

template <class Used>
void write_cost(json::Writer& writer, const Used& used) {
  writer.key("cost_usd").raw(used.cost ? format_dollars(*used.cost) : "null");
  writer.key("unpriced_tokens").number(unpriced_tokens(used));
}

struct Count {
  std::int64_t value = 0;
};
Status read_json(std::string_view json, Count& out) {
  Status read = json::read_json(json, out.value);
  if (read && out.value < 0) return fail(ErrorCode::kInvalidArgument, "a count is not negative");
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

// Of a caller every member has to be known. A store may hold those of a newer program.
enum class Strangers : std::uint8_t { kAllowed, kRefused };

Status finish(const json::Reader& in, Strangers strangers) {
  return strangers == Strangers::kRefused ? in.finish_strictly() : in.finish();
}

template <class Used>
void get_tokens_and_cost(json::Reader& in, Used& used) {
  for (const CountField& field : kCounts) {
    Count count;
    in.get(field.name, count);
    used.tokens.*field.member = count.value;
  }
  std::optional<Cost> cost;
  Count unpriced;
  in.get("cost_usd", cost).get("unpriced_tokens", unpriced);
  if (!cost) return;
  used.cost = cost->value;
  used.unpriced_tokens = unpriced.value;
}

Status read_models(std::string_view json, Strangers strangers, std::map<std::string, ModelUsage, std::less<>>& out) {
  const auto parsed = TRY(json::parse(json, json::kDepthMax, kModelsMax));
  const json::Value::Object* members = parsed.as_object();
  if (members == nullptr) return fail(ErrorCode::kInvalidArgument, "models: expected an object");
  for (const auto& [name, value] : *members) {
    const std::string text = json::dump(value);
    json::Reader in(text);
    get_tokens_and_cost(in, out[name]);
    TRY(finish(in, strangers));
  }
  return {};
}

Status check_basis(const Usage& usage) {
  if (usage.cost.has_value() == usage.basis.has_value()) return {};
  return fail(ErrorCode::kInvalidArgument,
              "cost_usd comes with a cost_basis of reported or table, and neither without the other");
}

Status read_usage(std::string_view json, Strangers strangers, Usage& out) {
  json::Reader in(json);
  Usage usage;
  get_tokens_and_cost(in, usage);
  Count turns;
  Count tool_calls;
  json::Unread models;
  std::string basis;
  in.get("turns", turns).get("tool_calls", tool_calls).get("cost_basis", basis).get("models", models);
  TRY(finish(in, strangers));
  usage.basis = parse_cost_basis(basis);
  usage.turns = turns.value;
  usage.tool_calls = tool_calls.value;
  TRY(check_basis(usage));
  if (!models.text.empty()) TRY(read_models(models.text, strangers, usage.models));
  out = std::move(usage);
  return {};
}

Status check_count(std::int64_t count) {
  return check_bounds(count, {0, kCountMax});
}

template <class Used>
Status check_amounts(const Used& used) {
  for (const CountField& field : kCounts) TRY(check_count(used.tokens.*field.member));
  if (used.unpriced_tokens < 0 || used.unpriced_tokens > token_count(used.tokens)) {
    return fail(ErrorCode::kInvalidArgument, "unpriced_tokens counts some of the tokens: it cannot be more than all");
  }
  if (used.cost && (*used.cost < 0 || *used.cost > kCostMax)) {
    return fail(ErrorCode::kInvalidArgument, "cost_usd is not an amount of dollars that anybody would pay");
  }
  return {};
}

template <class Used>
void cut_amounts(Used& used) {
  for (const CountField& field : kCounts) used.tokens.*field.member = std::min(used.tokens.*field.member, kCountMax);
  used.unpriced_tokens = std::min(used.unpriced_tokens, token_count(used.tokens));
}

// Exact while the product of tokens and micro-dollars has no more than 64 bits.
MicroDollars cost_of(const TokenCounts& tokens, const ModelPrice& price) {
  const auto times = [](std::int64_t count, MicroDollars per_million) {
    return static_cast<long double>(count) * static_cast<long double>(per_million);
  };
  const long double total =
      times(tokens.input, price.input) + times(tokens.cached_input, price.cached_input.value_or(price.input)) +
      times(tokens.cache_write, price.cache_write.value_or(price.input)) + times(tokens.output, price.output);
  return std::llround(std::min(total / kMicrosPerDollar, static_cast<long double>(kCostMax)));
}

}  // namespace

std::string_view name_of(CostBasis basis) {
  return name_in(kBasisNames, basis);
}

std::optional<CostBasis> parse_cost_basis(std::string_view name) {
  return value_in<CostBasis>(kBasisNames, name);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a, b, &total) ? std::numeric_limits<std::int64_t>::max() : total;
}

std::int64_t token_count(const TokenCounts& tokens) {
  return sum(sum(tokens.input, tokens.cached_input), sum(tokens.cache_write, tokens.output));
}

std::int64_t unpriced_tokens(const ModelUsage& used) {
  return used.cost ? used.unpriced_tokens : token_count(used.tokens);
}

std::int64_t unpriced_tokens(const Usage& used) {
  return used.cost ? used.unpriced_tokens : token_count(used.tokens);
}

Usage operator+(const Usage& a, const Usage& b) {
  Usage total{.tokens = sum_tokens(a.tokens, b.tokens),
              .turns = sum(a.turns, b.turns),
              .tool_calls = sum(a.tool_calls, b.tool_calls),
              .models = a.models};
  sum_costs(total, a, b);
  if (total.cost) {
    const bool from_table = a.basis == CostBasis::kTable || b.basis == CostBasis::kTable;
    total.basis = from_table ? CostBasis::kTable : CostBasis::kReported;
  }
  for (const auto& [name, used] : b.models) {
    ModelUsage& model = total.models[name];
    const ModelUsage before = std::exchange(model, {.tokens = sum_tokens(model.tokens, used.tokens)});
    sum_costs(model, before, used);
  }
  return total;
}

Usage most_of(Usage known, Usage said) {
  if (known.basis && said.basis && known.basis != said.basis) {
    forget_cost(known.basis == CostBasis::kTable ? known : said);
  }
  known.basis = known.basis ? known.basis : said.basis;
  known.turns = std::max(known.turns, said.turns);
  known.tool_calls = std::max(known.tool_calls, said.tool_calls);
  raise(known, said);
  for (const auto& [name, model] : said.models) raise(known.models[name], model);
  return known;
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
  write_tokens(writer, usage);
  writer.key("turns").number(usage.turns).key("tool_calls").number(usage.tool_calls);
  write_cost(writer, usage);
  writer.key("cost_basis").string_or_null(usage.basis ? name_of(*usage.basis) : "");
  writer.key("models").begin_object();
  for (const auto& [name, model] : usage.models) {
    writer.key(name).begin_object();
    write_tokens(writer, model);
    write_cost(writer, model);
    writer.end_object();
  }
  writer.end_object().end_object();
  return std::move(writer).take();
}

Status read_json(std::string_view json, Usage& out) {
  return read_usage(json, Strangers::kAllowed, out);
}

Status read_json(std::string_view json, Said<Usage>& out) {
  return read_usage(json, Strangers::kRefused, out.what);
}

Status check_usage(const Usage& usage) {
  TRY(check_amounts(usage));
  TRY(check_count(usage.turns));
  TRY(check_count(usage.tool_calls));
  TRY(check_basis(usage));
  if (usage.models.size() > kModelsOfRunMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("at most {} models, not {}", kModelsOfRunMax, usage.models.size()));
  }
  for (const auto& [name, model] : usage.models) {
    if (auto good = check_word(name); !good) return at_field("models", good.error());
    if (auto good = check_amounts(model); !good) return at_field(fmt::format("models.{}", name), good.error());
    if (model.cost && !usage.cost) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("models.{} has a cost_usd, and the whole has none: add them up", name));
    }
  }
  return {};
}

Usage within_bounds(Usage usage) {
  if (usage.models.size() > kModelsOfRunMax) usage.models.clear();  // their sum is what counts
  cut_amounts(usage);
  usage.turns = std::min(usage.turns, kCountMax);
  usage.tool_calls = std::min(usage.tool_calls, kCountMax);
  for (auto& [name, model] : usage.models) cut_amounts(model);
  return usage;
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
    model = {.tokens = model.tokens, .cost = cost_of(model.tokens, price->second)};
    total = sum(total, *model.cost);
  }
  with_costs.cost = total;
  with_costs.basis = CostBasis::kTable;
  return with_costs;
}

}  // namespace drover
