// What has to be reached, and whether a run did.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "figures.h"

namespace drover::bench {

enum class Verdict : std::uint8_t { kKept, kMissed, kNotMeasured };

struct BarResult {
  std::string what;
  std::string wanted;
  std::string measured;
  Verdict verdict = Verdict::kNotMeasured;
};

[[nodiscard]] std::vector<BarResult> hold_to_bars(std::span<const Figure> figures);
[[nodiscard]] std::string to_table(std::span<const BarResult> results);

[[nodiscard]] std::string to_json(std::span<const Figure> figures, std::span<const BarResult> bars);

}  // namespace drover::bench
