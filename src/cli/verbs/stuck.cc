// drover stuck: what all waiting tasks wait for, by cause.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/gate_view.h"
#include "cli/project.h"
#include "cli/read_value.h"
#include "cli/verb.h"
#include "core/gate_json.h"

namespace drover::cli {
namespace {

struct StuckOptions {
  std::optional<std::string> owner;
  Format format = Format::kAuto;
};

void define(Verb& verb, StuckOptions& options) {
  verb.value("--owner", "OWNER", &options.owner, read_name, "only tasks of this owner");
  verb.json(&options.format, "print the groups and counts as one JSON object");
}

// What the table does not show: for people, so it goes to stderr.
void say_the_rest(const StuckReport& report, Context& context) {
  if (report.groups.empty()) context.say("no task waits for a worker or an answer");
  if (report.unexamined > 0) {
    context.say(
        fmt::format("not looked at, because they wait in too many lanes: {}", counted(report.unexamined, "task")));
  }
  if (report.scheduled > 0) context.say(fmt::format("scheduled for later: {}", counted(report.scheduled, "task")));
  if (report.blocked > 0) context.say(fmt::format("blocked by other tasks: {}", counted(report.blocked, "task")));
}

int run(const StuckOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto report = (*opened)->queue().stuck(options.owner);
  if (!report) return context.fail(report.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*report));
    return kExitOk;
  }
  if (!report->groups.empty()) {
    context.out.write(stuck_table(report->groups, system_clock().wall()).render(context.out.look()));
  }
  say_the_rest(*report, context);
  return kExitOk;
}

}  // namespace

void add_stuck(Verbs& verbs) {
  verbs.add<StuckOptions>(
      {.name = "stuck",
       .summary = "Say what all waiting tasks wait for, by cause",
       .footer =
           R"(Groups the tasks that wait for a worker by what holds them back: a gate, a queue that nobody serves, or others in line.
Tasks that wait for an answer to a question are a group of their own.
Each group has the number of tasks, how long the first of them has waited, one task as an example, and what will release them.
`drover explain ID` says more about one task.

Piped, it prints tab-separated lines: reason, gate or queue, tasks, waiting since, example, explanation.

Examples:
  drover stuck
  drover stuck --owner team-a
  drover stuck --json | jq '.groups[] | {text, tasks}')"},
      define, run);
}

}  // namespace drover::cli
