// What was measured, and how it is told.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace drover::bench {

struct Rate {
  double per_s = 0;
};

struct Latency {
  double p50_ms = 0;
  double p99_ms = 0;
};

struct Amount {
  double value = 0;
  std::string unit;
};

inline constexpr std::string_view kDrover = "Drover";

struct Figure {
  std::string name;
  std::string store;  // "SQLite FULL", "SQLite NORMAL", "Redis"; empty for a peer with a store of its own
  std::string by;     // kDrover, or who else did it
  std::variant<Rate, Latency, Amount> value;
  std::string note = {};  // for whoever wants to know more
};

// Null if there is no such figure.
[[nodiscard]] const Figure* find_figure(std::span<const Figure> figures, std::string_view name, std::string_view store,
                                        std::string_view by);
// How many times as fast Drover is on the same store in the same run; nothing for Drover itself, and where there is
// nothing to compare.
[[nodiscard]] std::optional<double> drover_ratio(std::span<const Figure> figures, const Figure& figure);

// Rows of cells under headings; columns from `first_right` on are aligned to the right.
using Row = std::vector<std::string>;
[[nodiscard]] std::string aligned(const std::vector<Row>& rows, std::size_t first_right);

[[nodiscard]] std::string to_table(std::span<const Figure> figures);
[[nodiscard]] std::string to_text(const Figure& figure);  // its value with the unit

// The value beneath which that share of the samples lies; there is at least one.
[[nodiscard]] double percentile(std::vector<double> samples, double share);
[[nodiscard]] inline double median(std::vector<double> samples) {
  return percentile(std::move(samples), 0.5);
}

}  // namespace drover::bench
