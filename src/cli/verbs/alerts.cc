// drover alerts: what somebody should look at, and what can wait.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/read_value.h"
#include "cli/stats_view.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/alert.h"

namespace drover::cli {
namespace {

struct AlertsOptions {
  Format format = Format::kAuto;
  std::optional<std::string> snooze{};
  std::optional<Millis> how_long{};
  std::string reason{};
};

void define(Verb& verb, AlertsOptions& options) {
  verb.formats(&options.format, "print a JSON array of alerts");
  verb.value("--snooze", "KEY", &options.snooze, read_text, "leave the alert with this key alone for a while");
  verb.value("--for", "D", &options.how_long, parse_duration, "how long to snooze it; 0s wakes it up");
  verb.value("--reason", "R", &options.reason, read_text, "why; shown to anyone who asks");
  verb.check([&options]() -> Status {
    if (options.snooze.has_value() == options.how_long.has_value()) return {};
    return complaint("--snooze and --for", "give both, or neither");
  });
}

int snooze(TaskQueue& queue, const SnoozeOrder& order, Context& context) {
  const auto alert = queue.snooze_alert(order);
  if (!alert) return context.fail(alert.error());
  const auto& until = alert->snoozed_until;
  context.say(until ? fmt::format("{} is snoozed until {}", order.key, format_time(*until))
                    : fmt::format("{} is awake", order.key));
  return kExitOk;
}

int run(const AlertsOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  if (options.snooze && options.how_long) {
    const Verdict verdict{.by = who(), .why = options.reason};
    return snooze((*opened)->queue(), {.key = *options.snooze, .duration = *options.how_long, .verdict = verdict},
                  context);
  }
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

`--snooze` takes a key as `drover alerts --json` prints it. A snoozed alert stays in the list. It wakes up at that time, or when it
gets worse.

Examples:
  drover alerts
  drover alerts --snooze dead_letter:queue:eng --for 2h --reason 'known, fix is on its way')"},
      define, run);
}

}  // namespace drover::cli
