// How stats and alerts look to people, and which columns programs get.
#pragma once

#include <span>
#include <string>

#include "cli/output.h"
#include "cli/table.h"
#include "drover/stats.h"

namespace drover::cli {

// The lines above the tables: totals, rates, durations, workers, permits.
[[nodiscard]] std::string stats_summary(const Stats& stats);
[[nodiscard]] Table stats_table(const Stats& stats);
[[nodiscard]] Table alert_table(std::span<const Alert> alerts, Time now);

// What happened over time: the charts above the table, and the table, oldest first.
[[nodiscard]] std::string history_charts(const StatsHistory& history, int width);
[[nodiscard]] Table history_table(const StatsHistory& history);

// For people how long ago that was, for programs when.
[[nodiscard]] Cell age_cell(const std::optional<Time>& since, Time now);
// A number per minute, as it would be if the window were a minute: "12", "0.5".
[[nodiscard]] std::string per_minute(std::int64_t count, Millis window);
// "1.2s / 3s", of p50 and p95; "-" if there is no sample.
[[nodiscard]] std::string durations_text(const Durations& durations);

}  // namespace drover::cli
