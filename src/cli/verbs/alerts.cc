// drover alerts: what somebody should look at.
#include "base/clock.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/stats_view.h"
#include "cli/verb.h"
#include "core/alert.h"

namespace drover::cli {
namespace {

struct AlertsOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, AlertsOptions& options) {
  verb.formats(&options.format, "print a JSON array of alerts");
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

}  // namespace

void add_alerts(Verbs& verbs) {
  verbs.add<AlertsOptions>(
      {.name = "alerts",
       .summary = "List the problems that need somebody's attention",
       .footer =
           R"(Shows the latest check of the fleet, which is at most 15 seconds old while a worker or `drover up` runs.

Piped, it prints tab-separated lines: severity, kind, subject, since, detail, fix.

Examples:
  drover alerts)"},
      define, run);
}

}  // namespace drover::cli
