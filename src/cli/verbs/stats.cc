// drover stats: how the queues are doing.
#include "cli/project.h"
#include "cli/stats_view.h"
#include "cli/verb.h"
#include "core/stats_json.h"

namespace drover::cli {
namespace {

struct StatsOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, StatsOptions& options) {
  verb.json(&options.format, "print everything as one JSON object");
}

void show(const Stats& stats, Context& context) {
  if (!context.out.look().terminal) return context.out.write(stats_table(stats).render(context.out.look()));
  context.out.write(stats_summary(stats));
  if (!stats.queues.empty()) context.out.write("\n" + stats_table(stats).render(context.out.look()));
  if (!stats.alerts.empty()) context.out.write("\n" + alert_table(stats.alerts, stats.at).render(context.out.look()));
}

int run(const StatsOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto stats = (*opened)->queue().stats();
  if (!stats) return context.fail(stats.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*stats));
  } else {
    show(*stats, context);
  }
  return kExitOk;
}

}  // namespace

void add_stats(Verbs& verbs) {
  verbs.add<StatsOptions>(
      {.name = "stats",
       .summary = "Show how the queues are doing: counts, rates, durations, workers, alerts",
       .footer =
           R"(Rates and durations cover the last minute, or the last 20000 events if those go back less than a minute.

Piped, it prints a tab-separated line per queue: name, waiting, when the first of them became ready, running, scheduled, blocked, completed, failed,
cancelled, workers, free slots, then in that window: enqueued, started, completed, failed, retried, then in milliseconds: wait p50
and p95, run p50 and p95.

Examples:
  drover stats
  drover stats --json | jq .rates)"},
      define, run);
}

}  // namespace drover::cli
