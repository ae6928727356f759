// drover stats: how the queues are doing.
#include "cli/project.h"
#include "cli/stats_view.h"
#include "cli/verb.h"
#include "core/stats_json.h"

namespace drover::cli {
namespace {

struct StatsOptions {
  bool history = false;
  std::optional<int> hours;
  std::optional<int> minutes;
  Format format = Format::kAuto;
};

void define(Verb& verb, StatsOptions& options) {
  verb.flag("--history", &options.history, true, "show what happened over time: the last hour, minute by minute");
  verb.value("--minutes", "N", &options.minutes, integer_between({1, kHistoryMinutes}),
             "with --history: the last N minutes, at most 1440");
  verb.value("--hours", "N", &options.hours, integer_between({1, kHistoryHours}),
             "with --history: the last N hours, hour by hour, at most 720");
  verb.json(&options.format, "print everything as one JSON object");
  verb.check([&options]() -> Status {
    if (options.hours && options.minutes) return complaint("--hours", "cannot be combined with --minutes");
    if (!options.history && (options.hours || options.minutes)) {
      return complaint(options.hours ? "--hours" : "--minutes", "needs --history");
    }
    return {};
  });
}

int show_history(TaskQueue& queue, const StatsOptions& options, Context& context) {
  constexpr int kMinutesShown = 60;
  const auto history = options.hours
                           ? queue.stats_history(HistoryStep::kHour, *options.hours)
                           : queue.stats_history(HistoryStep::kMinute, options.minutes.value_or(kMinutesShown));
  if (!history) return context.fail(history.error());
  const Look& look = context.out.look();
  if (options.format == Format::kJson) {
    context.out.line(to_json(*history));
  } else {
    context.out.write(look.terminal ? history_charts(*history, look.width) : history_table(*history).render(look));
  }
  return kExitOk;
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
  if (options.history) return show_history((*opened)->queue(), options, context);
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

With --history it shows charts, and piped a tab-separated line for each minute or hour in which something happened: when it began, enqueued, started,
completed, failed, retried, deferred, cancelled, then in milliseconds: wait p50 and p95, run p50 and p95, then cost in dollars and tokens. Minutes
are kept for a day and hours for 30 days.

Examples:
  drover stats
  drover stats --json | jq .rates
  drover stats --history --hours 24)"},
      define, run);
}

}  // namespace drover::cli
