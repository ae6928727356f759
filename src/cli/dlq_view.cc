#include "cli/dlq_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "cli/display_text.h"
#include "cli/task_view.h"
#include "core/fingerprint.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

Cell ago(Time then, Time now) {
  return {coarse_duration(std::max(Millis{0}, now - then)), format_time(then)};
}

std::string indented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.append("    ").append(text.substr(0, end)).append(1, '\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Table group_table(std::span<const ErrorGroup> groups, Time now) {
  Table table({{"FINGERPRINT"},
               {"CLASS"},
               {"COUNT"},
               {"ESCALATED", Fit::kHidden},
               {"FIRST", Fit::kHidden},
               {"LAST"},
               {"EXAMPLE", Fit::kHidden},
               {"TYPES", Fit::kElastic},
               {"ERROR", Fit::kRest}});
  for (const ErrorGroup& group : groups) {
    const bool is_one_kind = !group.fingerprint.empty();
    table.add({is_one_kind ? group.fingerprint : "-", is_one_kind ? std::string(name_of(group.error_class)) : "-",
               std::to_string(group.count), std::to_string(group.escalated), format_time(group.first_at),
               ago(group.last_at, now), group.example.to_string(), fmt::to_string(fmt::join(group.types, ",")),
               group.pattern});
  }
  return table;
}

Table dead_letter_table(std::span<const Task> tasks, Time now) {
  Table table({{"ID"},
               {"TYPE", Fit::kElastic},
               {"QUEUE", Fit::kHidden},
               {"OWNER", Fit::kHidden},
               {"FAILED"},
               {"CLASS", Fit::kHidden},
               {"FINGERPRINT", Fit::kHidden},
               {"TO", Fit::kElastic},
               {"ERROR", Fit::kRest}});
  for (const Task& task : tasks) {
    const TaskError error = task.error.value_or(TaskError{});
    table.add({task.id.to_string(), task.type, task.queue, task.owner,
               ago(task.finished_at.value_or(task.created_at), now), std::string(name_of(error.error_class)),
               fingerprint(error), task.escalation ? task.escalation->to : "",
               Cell(fmt::format("{}: {}", name_of(error.error_class), error.message), error.message)});
  }
  return table;
}

std::string dead_letter_page(const Task& task, std::span<const RunWithOutput> runs, Time now, const Look& look) {
  std::vector<RunSummary> summaries;
  for (const RunWithOutput& report : runs) summaries.push_back(report.run);
  std::string text = task_page(task, summaries, now, look);
  if (!look.terminal) return text;
  for (const RunWithOutput& report : runs) {
    if (report.output_tail.empty()) continue;
    text += fmt::format("\nrun {} wrote at its end:\n{}", report.run.run, indented(harmless(report.output_tail)));
  }
  return text;
}

std::string dead_letter_json(const Task& task, std::span<const RunWithOutput> runs) {
  json::Writer out;
  out.begin_object().key("task").raw(to_json(task)).key("runs").begin_array();
  for (const RunWithOutput& report : runs) {
    // The run's own members, and one more.
    std::string members = to_json(report.run);
    members.pop_back();
    json::Writer tail;
    tail.string(report.output_tail);
    out.raw(fmt::format(R"({},"output_tail":{}}})", members, std::move(tail).take()));
  }
  out.end_array().end_object();
  return std::move(out).take();
}

}  // namespace drover::cli
