#include "figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace drover::bench {
namespace {

std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string text_of(const Rate& rate) {
  return grouped(rate.per_s) + " /s";
}

std::string text_of(const Latency& latency) {
  return fmt::format("p50 {:.3f} ms, p99 {:.3f} ms", latency.p50_ms, latency.p99_ms);
}

std::string text_of(const Amount& amount) {
  constexpr double kWhole = 1'000;  // from here on nobody looks at the digits behind the point
  return fmt::format("{} {}", amount.value >= kWhole ? grouped(amount.value) : fmt::format("{:.1f}", amount.value),
                     amount.unit);
}

}  // namespace

const Figure* find_figure(std::span<const Figure> figures, std::string_view name, std::string_view store,
                          std::string_view by) {
  const auto found = std::ranges::find_if(
      figures, [&](const Figure& figure) { return figure.name == name && figure.store == store && figure.by == by; });
  return found == figures.end() ? nullptr : &*found;
}

std::optional<double> drover_ratio(std::span<const Figure> figures, const Figure& figure) {
  const auto* theirs = std::get_if<Rate>(&figure.value);
  const Figure* drover = find_figure(figures, figure.name, figure.store, kDrover);
  if (theirs == nullptr || drover == nullptr || drover == &figure) return std::nullopt;
  return std::get<Rate>(drover->value).per_s / theirs->per_s;
}

std::string aligned(const std::vector<Row>& rows, std::size_t first_right) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i < first_right ? fmt::format("{:<{}}  ", row[i], widths[i]) : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string to_text(const Figure& figure) {
  return std::visit([](const auto& value) { return text_of(value); }, figure.value);
}

std::string to_table(std::span<const Figure> figures) {
  std::vector<Row> rows{{"MEASURED", "STORE", "BY", "VALUE", "DROVER IS"}};
  for (const Figure& figure : figures) {
    const auto ratio = drover_ratio(figures, figure);
    rows.push_back(
        {figure.name, figure.store, figure.by, to_text(figure), ratio ? fmt::format("{:.2f} x", *ratio) : ""});
  }
  std::string text = aligned(rows, 3);
  for (const Figure& figure : figures) {
    if (!figure.note.empty()) text += fmt::format("{}: {}\n", figure.name, figure.note);
  }
  return text;
}

double percentile(std::vector<double> samples, double share) {
  CHECK(!samples.empty());
  const auto last = static_cast<double>(samples.size() - 1);
  const auto nth = samples.begin() + static_cast<std::ptrdiff_t>(last * share + 0.5);
  std::ranges::nth_element(samples, nth);
  return *nth;
}

}  // namespace drover::bench
