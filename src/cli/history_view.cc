// Statistics over time, as small charts and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/stats_view.h"
#include "core/usage.h"

namespace drover::cli {
namespace {

constexpr int kNameWidth = 11;
constexpr int kMostWidth = 24;  // columns for the text after a chart
constexpr std::array<std::string_view, 9> kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

Millis step_of(const StatsHistory& history) {
  return history.step == HistoryStep::kMinute ? Millis{60'000} : Millis{3'600'000};
}

// One column for each step, or the largest of several where there are more steps than columns.
template <class Value>
std::vector<double> columns_of(const StatsHistory& history, std::size_t width, Value value) {
  const auto steps = static_cast<std::size_t>((history.until - history.from) / step_of(history));
  std::vector<double> columns(std::min(width, steps), 0);
  for (const StatsBucket& bucket : history.buckets) {
    const auto step = static_cast<std::size_t>((bucket.at - history.from) / step_of(history));
    double& column = columns[std::min(step * columns.size() / steps, columns.size() - 1)];
    column = std::max(column, value(bucket));
  }
  return columns;
}

std::string bars_of(const std::vector<double>& columns) {
  const double most = std::ranges::max(columns);
  std::string bars;
  for (const double value : columns) {
    const double share = most > 0 ? value / most : 0;
    bars += kBars[static_cast<std::size_t>(std::ceil(share * (kBars.size() - 1)))];
  }
  return bars;
}

double millis_of(const std::optional<Millis>& time) {
  return static_cast<double>(time.value_or(Millis{0}).count());
}

std::string number(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

std::string number(const std::optional<Millis>& value) {
  return value ? std::to_string(value->count()) : "";
}

}  // namespace

std::string history_charts(const StatsHistory& history, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width - kNameWidth - kMostWidth, 10));
  std::string text;
  const auto add = [&](std::string_view name, auto value, auto say) {
    const std::vector<double> values = columns_of(history, columns, value);
    const double most = std::ranges::max(values);
    if (most > 0) text += fmt::format("{:<{}}{}  most {}\n", name, kNameWidth, bars_of(values), say(most));
  };
  const auto count = [](double most) { return fmt::format("{:.0f}", most); };
  const auto duration = [](double most) { return format_duration(Millis(std::llround(most))); };
  const auto money = [](double most) { return "$" + format_dollars(std::llround(most)); };
  add("enqueued", [](const StatsBucket& b) { return static_cast<double>(b.enqueued); }, count);
  add("completed", [](const StatsBucket& b) { return static_cast<double>(b.completed); }, count);
  add("failed", [](const StatsBucket& b) { return static_cast<double>(b.failed); }, count);
  add("retried", [](const StatsBucket& b) { return static_cast<double>(b.retried); }, count);
  add("wait p95", [](const StatsBucket& b) { return millis_of(b.waits.p95); }, duration);
  add("run p95", [](const StatsBucket& b) { return millis_of(b.runs.p95); }, duration);
  add("cost", [](const StatsBucket& b) { return static_cast<double>(b.cost_micro_usd.value_or(0)); }, money);
  if (text.empty()) return "nothing happened in that time\n";
  const std::string_view step = history.step == HistoryStep::kMinute ? "minute" : "hour";
  return fmt::format("{}from {} to {}, for each {}\n", text, format_time(history.from), format_time(history.until),
                     step);
}

Table history_table(const StatsHistory& history) {
  Table table({{"AT"},
               {"ENQUEUED"},
               {"STARTED"},
               {"COMPLETED"},
               {"FAILED"},
               {"RETRIED"},
               {"DEFERRED"},
               {"CANCELLED"},
               {"WAIT P50"},
               {"WAIT P95"},
               {"RUN P50"},
               {"RUN P95"},
               {"COST"},
               {"TOKENS"}});
  for (const StatsBucket& bucket : history.buckets) {
    table.add({format_time(bucket.at), std::to_string(bucket.enqueued), std::to_string(bucket.started),
               std::to_string(bucket.completed), std::to_string(bucket.failed), std::to_string(bucket.retried),
               std::to_string(bucket.deferred), std::to_string(bucket.cancelled), number(bucket.waits.p50),
               number(bucket.waits.p95), number(bucket.runs.p50), number(bucket.runs.p95),
               bucket.cost_micro_usd ? format_dollars(*bucket.cost_micro_usd) : "", number(bucket.tokens)});
  }
  return table;
}

}  // namespace drover::cli
