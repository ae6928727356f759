#include "figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json.h"

namespace drover::bench {
namespace {

using Cells = std::array<std::string, 5>;

std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

Cells cells_of(const Figure& figure) {
  Cells cells{figure.name, figure.setting};
  if (const auto* rate = std::get_if<Rate>(&figure.value)) {
    cells[2] = grouped(rate->per_s) + " /s";
    if (rate->limit_per_s) {
      cells[3] = grouped(*rate->limit_per_s) + " /s";
      cells[4] = fmt::format("{:.2f}", rate->per_s / *rate->limit_per_s);
    }
  } else {
    const Latency& latency = std::get<Latency>(figure.value);
    cells[2] = fmt::format("p50 {:.3f} ms, p99 {:.3f} ms", latency.p50_ms, latency.p99_ms);
    if (latency.p50_bar_ms) {
      cells[3] = fmt::format("p50 < {} ms", *latency.p50_bar_ms);
      cells[4] = latency.p50_ms < *latency.p50_bar_ms ? "kept" : "MISSED";
    }
  }
  return cells;
}

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::string to_table(std::span<const Figure> figures) {
  std::vector<Cells> rows{{"MEASURED", "SYNC", "DROVER", "LIMIT", "RATIO"}};
  for (const Figure& figure : figures) rows.push_back(cells_of(figure));
  std::array<std::size_t, 5> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}\n", row[0], widths[0], row[1], widths[1], row[2],
                        widths[2], row[3], widths[3], row[4], widths[4]);
  }
  return text;
}

std::string to_json(std::span<const Figure> figures) {
  json::Writer out;
  out.begin_array();
  for (const Figure& figure : figures) {
    out.begin_object().key("name").string(figure.name).key("sync").string(figure.setting);
    if (const auto* rate = std::get_if<Rate>(&figure.value)) {
      out.key("per_s").raw(number(rate->per_s));
      if (rate->limit_per_s) {
        out.key("limit_per_s").raw(number(*rate->limit_per_s));
        out.key("ratio").raw(number(rate->per_s / *rate->limit_per_s));
      }
    } else {
      const Latency& latency = std::get<Latency>(figure.value);
      out.key("p50_ms").raw(number(latency.p50_ms)).key("p99_ms").raw(number(latency.p99_ms));
      if (latency.p50_bar_ms) out.key("p50_bar_ms").raw(number(*latency.p50_bar_ms));
    }
    out.end_object();
  }
  out.end_array();
  return std::move(out).take();
}

double percentile(std::vector<double> samples, double share) {
  CHECK(!samples.empty());
  const auto last = static_cast<double>(samples.size() - 1);
  const auto nth = samples.begin() + static_cast<std::ptrdiff_t>(last * share + 0.5);
  std::ranges::nth_element(samples, nth);
  return *nth;
}

}  // namespace drover::bench
