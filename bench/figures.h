// What was measured, and how it is told.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace drover::bench {

struct Rate {
  double per_s = 0;
  std::optional<double> limit_per_s;  // what the bare store does, measured in the same run
};

struct Latency {
  double p50_ms = 0;
  double p99_ms = 0;
  std::optional<double> p50_bar_ms;  // what p50 has to stay under
};

struct Figure {
  std::string name;
  std::string setting;  // "FULL", "NORMAL", or empty
  std::variant<Rate, Latency> value;
};

[[nodiscard]] std::string to_table(std::span<const Figure> figures);
[[nodiscard]] std::string to_json(std::span<const Figure> figures);

// The value beneath which that share of the samples lies; there is at least one.
[[nodiscard]] double percentile(std::vector<double> samples, double share);
[[nodiscard]] inline double median(std::vector<double> samples) {
  return percentile(std::move(samples), 0.5);
}

}  // namespace drover::bench
