#include "bars.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "cases.h"

namespace drover::bench {
namespace {

struct RateBar {
  std::string_view figure;
  std::string_view store;  // Drover's
  std::string_view by;     // who is to be beaten, or come near to
  std::string_view their_store;
  double at_least = 1;  // of their rate
};
constexpr RateBar kRateBars[] = {
    {kDrainByCalls, "Redis", "bee-queue", "Redis", 1.5},
    {kDrainByCalls, "Redis", "BullMQ", "Redis", 2.5},
    {kDrainByHandlers, "Redis", "bee-queue", "Redis", 1.5},
    {kDrainByHandlers, "Redis", "BullMQ", "Redis", 2.5},
    {kDrainOf100, "SQLite FULL", "bare SQLite", "SQLite FULL", 0.25},
    {kDrainOf100, "SQLite FULL", "plainjob", "SQLite NORMAL", 2},
    {kBulk, "Redis", "bare Lua", "Redis", 0.4},
    {kBulk, "SQLite FULL", "bare SQLite", "SQLite FULL", 0.4},
    {kRestAwaited, "SQLite FULL", "bare HTTP", "SQLite FULL", 0.2},
    {kRestWatched, "SQLite FULL", "nobody watching", "SQLite FULL", 0.75},
};

struct LatencyBar {
  std::string_view figure;
  double p50_below_ms = 0;
  double p99_below_ms = 0;
};
constexpr LatencyBar kLatencyBars[] = {{kPickUpHere, 0.5, 2}, {kPickUpElsewhere, 1.2, 4}};

struct AmountBar {
  std::string_view figure;
  std::string_view store;
  double at_most = 0;
};
constexpr AmountBar kAmountBars[] = {{kLifeOf10, "Redis", 40},       {kLifeOf10OfEight, "Redis", 40},
                                     {kPendingBytes, "Redis", 800},  {kRestMemory, "SQLite FULL", 30},
                                     {kRestCpu, "SQLite FULL", 0.5}, {kWatchersClosed, "SQLite FULL", 1}};

// An amount beside that of the bare loop in the same run: what `at_most` is on the machine on which the bars were set,
// where the bare loop took `theirs`.
struct BesideBar {
  std::string_view figure;
  std::string_view store;
  std::string_view by;
  double at_most = 0;
  double theirs = 1;
};
constexpr BesideBar kBesideBars[] = {{kLifeOf10, "Redis", "bare Lua", 40, 29}};

// Work that must not grow. Counts that differ by less than the odd housekeeping are the same.
struct FlatBar {
  std::string_view small;
  std::string_view large;
};
constexpr FlatBar kFlatBars[] = {{kClaimSmallBacklog, kClaimLargeBacklog}, {kClaimFewLanes, kClaimManyLanes}};
constexpr double kSameWithin = 1.05;

constexpr std::string_view kStores[] = {"SQLite FULL", "Redis"};

Verdict verdict_of(bool kept) {
  return kept ? Verdict::kKept : Verdict::kMissed;
}

BarResult hold(std::span<const Figure> figures, const RateBar& bar) {
  BarResult result{fmt::format("{}, {}, beside {}", bar.figure, bar.store, bar.by),
                   fmt::format("at least {} x", bar.at_least), ""};
  const Figure* ours = find_figure(figures, bar.figure, bar.store, kDrover);
  const Figure* theirs = find_figure(figures, bar.figure, bar.their_store, bar.by);
  if (ours == nullptr || theirs == nullptr) return result;
  const double ratio = std::get<Rate>(ours->value).per_s / std::get<Rate>(theirs->value).per_s;
  result.measured = fmt::format("{:.2f} x", ratio);
  result.verdict = verdict_of(ratio >= bar.at_least);
  return result;
}

BarResult hold(std::span<const Figure> figures, const LatencyBar& bar, std::string_view store) {
  BarResult result{fmt::format("{}, {}", bar.figure, store),
                   fmt::format("p50 < {} ms, p99 < {} ms", bar.p50_below_ms, bar.p99_below_ms), ""};
  const Figure* figure = find_figure(figures, bar.figure, store, kDrover);
  if (figure == nullptr) return result;
  const auto& latency = std::get<Latency>(figure->value);
  result.measured = to_text(*figure);
  result.verdict = verdict_of(latency.p50_ms < bar.p50_below_ms && latency.p99_ms < bar.p99_below_ms);
  return result;
}

BarResult hold(std::span<const Figure> figures, const AmountBar& bar) {
  BarResult result{std::string(bar.figure), fmt::format("at most {}", bar.at_most), ""};
  const Figure* figure = find_figure(figures, bar.figure, bar.store, kDrover);
  if (figure == nullptr) return result;
  result.measured = to_text(*figure);
  result.verdict = verdict_of(std::get<Amount>(figure->value).value <= bar.at_most);
  return result;
}

BarResult hold(std::span<const Figure> figures, const BesideBar& bar) {
  const double wanted = bar.at_most / bar.theirs;
  BarResult result{fmt::format("{}, beside {}", bar.figure, bar.by), fmt::format("at most {:.2f} x", wanted), ""};
  const Figure* ours = find_figure(figures, bar.figure, bar.store, kDrover);
  const Figure* theirs = find_figure(figures, bar.figure, bar.store, bar.by);
  if (ours == nullptr || theirs == nullptr) return result;
  const double ratio = std::get<Amount>(ours->value).value / std::get<Amount>(theirs->value).value;
  result.measured = fmt::format("{:.2f} x", ratio);
  result.verdict = verdict_of(ratio <= wanted);
  return result;
}

BarResult hold(std::span<const Figure> figures, const FlatBar& bar, std::string_view store) {
  BarResult result{fmt::format("{}, {}", bar.large, store), fmt::format("as {}", bar.small), ""};
  const Figure* small = find_figure(figures, bar.small, store, kDrover);
  const Figure* large = find_figure(figures, bar.large, store, kDrover);
  if (small == nullptr || large == nullptr) return result;
  result.measured = fmt::format("{} after {}", to_text(*large), to_text(*small));
  result.verdict =
      verdict_of(std::get<Amount>(large->value).value <= kSameWithin * std::get<Amount>(small->value).value);
  return result;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kKept:
      return "kept";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kNotMeasured:
      return "not measured";
  }
  std::abort();
}

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

void write_value(json::Writer& out, const Figure& figure) {
  if (const auto* rate = std::get_if<Rate>(&figure.value)) {
    out.key("per_s").raw(number(rate->per_s));
  } else if (const auto* latency = std::get_if<Latency>(&figure.value)) {
    out.key("p50_ms").raw(number(latency->p50_ms)).key("p99_ms").raw(number(latency->p99_ms));
  } else {
    const auto& amount = std::get<Amount>(figure.value);
    out.key("value").raw(number(amount.value)).key("unit").string(amount.unit);
  }
}

}  // namespace

std::vector<BarResult> hold_to_bars(std::span<const Figure> figures) {
  std::vector<BarResult> results;
  for (const RateBar& bar : kRateBars) results.push_back(hold(figures, bar));
  for (const std::string_view store : kStores) {
    for (const LatencyBar& bar : kLatencyBars) results.push_back(hold(figures, bar, store));
    for (const FlatBar& bar : kFlatBars) results.push_back(hold(figures, bar, store));
  }
  for (const AmountBar& bar : kAmountBars) results.push_back(hold(figures, bar));
  for (const BesideBar& bar : kBesideBars) results.push_back(hold(figures, bar));
  return results;
}

std::string to_table(std::span<const BarResult> results) {
  std::vector<Row> rows{{"BAR", "WANTED", "MEASURED", ""}};
  for (const BarResult& result : results) {
    rows.push_back({result.what, result.wanted, result.measured, std::string(name_of(result.verdict))});
  }
  return aligned(rows, rows.front().size());
}

std::string to_json(std::span<const Figure> figures, std::span<const BarResult> bars) {
  json::Writer out;
  out.begin_object().key("figures").begin_array();
  for (const Figure& figure : figures) {
    out.begin_object().key("name").string(figure.name).key("store").string(figure.store).key("by").string(figure.by);
    write_value(out, figure);
    if (const auto ratio = drover_ratio(figures, figure)) out.key("drover_ratio").raw(number(*ratio));
    if (!figure.note.empty()) out.key("note").string(figure.note);
    out.end_object();
  }
  out.end_array().key("bars").begin_array();
  for (const BarResult& bar : bars) {
    out.begin_object().key("what").string(bar.what).key("wanted").string(bar.wanted);
    out.key("measured").string(bar.measured).key("verdict").string(name_of(bar.verdict)).end_object();
  }
  return std::move(out.end_array().end_object()).take();
}

}  // namespace drover::bench
