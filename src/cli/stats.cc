// drover stats and drover alerts: how the queues are doing, and what somebody should look at.
#include "base/clock.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/stats_view.h"
#include "cli/verbs.h"
#include "core/alert.h"
#include "core/stats_json.h"

namespace drover::cli {
namespace {

void show(const Stats& stats, Context& context) {
  if (!context.out.look().terminal) return context.out.write(stats_table(stats).render(context.out.look()));
  context.out.write(stats_summary(stats));
  if (!stats.queues.empty()) context.out.write("\n" + stats_table(stats).render(context.out.look()));
  if (!stats.alerts.empty()) context.out.write("\n" + alert_table(stats.alerts, stats.at).render(context.out.look()));
}

}  // namespace

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

int run(const AlertsOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto alerts = (*opened)->queue().alerts();
  if (!alerts) return context.fail(alerts.error());
  print(Listing<Alert>{.items = *alerts,
                       .nothing = "no alerts",
                       .name = [](const Alert& alert) { return alert.subject; },
                       .table = [&] { return alert_table(*alerts, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

}  // namespace drover::cli
