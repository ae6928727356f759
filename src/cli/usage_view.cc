#include "cli/usage_view.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "core/names.h"
#include "core/run_report.h"

namespace drover::cli {

std::string_view usage_title(UsageDimension dimension) {
  constexpr Names<kUsageDimensionCount> kTitles{"DAY", "OWNER", "TYPE", "RUNNER", "MODEL", "CLASS", "TAG"};
  return name_in(kTitles, dimension);
}

std::string short_count(std::int64_t count) {
  constexpr double kThousand = 1e3;
  constexpr double kMillion = 1e6;
  const auto amount = static_cast<double>(count);
  if (amount < kThousand) return std::to_string(count);
  if (amount < kMillion) return fmt::format("{:.1f}k", amount / kThousand);
  return fmt::format("{:.1f}M", amount / kMillion);
}

std::string short_dollars(MicroDollars amount) {
  constexpr double kDollar = 1e6;
  const double dollars = static_cast<double>(amount) / kDollar;
  return dollars < 1 ? fmt::format("${:.4f}", dollars) : fmt::format("${:.2f}", dollars);
}

std::string cost_text(const Task& task) {
  const Usage usage = usage_of(task.usage);
  const std::string known = usage.cost ? short_dollars(*usage.cost) : "";
  if (unpriced_tokens(usage) == 0) return known;
  return known.empty() ? "?" : known + "+?";
}

std::string usage_text(const std::optional<JsonText>& json) {
  if (!json) return "";
  const Usage usage = usage_of(json);
  const TokenCounts& tokens = usage.tokens;
  std::string text = fmt::format("{}, {} in, {} cached, {} out", counted(usage.turns, "turn"),
                                 short_count(tokens.input + tokens.cache_write), short_count(tokens.cached_input),
                                 short_count(tokens.output));
  if (usage.cost) text += ", " + short_dollars(*usage.cost);
  if (usage.cost && unpriced_tokens(usage) > 0) {
    text += fmt::format(" and {} tokens of unknown cost", short_count(unpriced_tokens(usage)));
  }
  return text;
}

}  // namespace drover::cli
