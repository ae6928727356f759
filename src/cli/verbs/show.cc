// drover show: one task, or its runs.
#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "core/page_limit.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct ShowOptions {
  TaskId id;
  bool runs = false;  // its runs instead of the task
  Format format = Format::kAuto;
};

void define(Verb& verb, ShowOptions& options) {
  verb.task_id(&options.id);
  verb.flag("--runs", &options.runs, true, "its runs, newest first, instead of the task");
  verb.json(&options.format, "print the task as JSON");
}

std::string runs_json(std::span<const RunSummary> runs) {
  json::Writer writer;
  writer.begin_array();
  for (const RunSummary& run : runs) writer.raw(to_json(run));
  writer.end_array();
  return std::move(writer).take();
}

// Indented where a person reads.
void print_json(const std::string& text, Output& out) {
  const auto value = out.look().terminal ? json::parse(text) : Result<json::Value>(std::unexpected(Error{}));
  out.line(value ? json::dump_pretty(*value) : text);
}

// The oldest first; none if this token may not see them.
Result<std::vector<Question>> open_questions(TaskQueue& queue, const Task& task) {
  if (task.open_questions == 0) return std::vector<Question>();
  auto open = queue.questions({.state = QuestionState::kOpen, .task_id = task.id}, kPageMax, std::nullopt);
  if (!open && open.error().code == ErrorCode::kForbidden) return std::vector<Question>();
  if (!open) return std::unexpected(open.error());
  std::ranges::reverse(open->questions);
  return std::move(open->questions);
}

int run(const ShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const auto task = queue.get(options.id);
  if (!task) return context.fail(task.error());
  const auto runs = queue.runs(options.id);
  if (!runs) return context.fail(runs.error());
  const auto asked = open_questions(queue, *task);
  if (!asked) return context.fail(asked.error());
  const Time now = system_clock().wall();
  Output& out = context.out;
  if (options.format == Format::kJson) {
    print_json(options.runs ? runs_json(*runs) : to_json(*task), out);
  } else {
    out.write(options.runs ? run_table(*runs, now).render(out.look())
                           : task_page(*task, *runs, now, out.look(), *asked));
  }
  return kExitOk;
}

}  // namespace

void add_show(Verbs& verbs) {
  verbs.add<ShowOptions>(
      {.name = "show",
       .summary = "Show one task",
       .footer =
           R"(Piped, --runs prints tab-separated lines: run, generation, outcome, started_at, ended_at, milliseconds it took, exit code,
what its agent used, worker, error.

Examples:
  drover show 01920f5e-7a3c-7def-8123-456789abcdef
  drover show 01920f5e-7a3c-7def-8123-456789abcdef --json | jq .error)"},
      define, run);
}

}  // namespace drover::cli
