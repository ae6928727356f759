// drover logs: what a task's runs wrote, followed until the task ends if so wished.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/display_text.h"
#include "cli/project.h"
#include "cli/transcript_view.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct LogsOptions {
  TaskId id;
  std::optional<int> run;  // only this one
  bool follow = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, LogsOptions& options) {
  verb.task_id(&options.id);
  verb.flag("-f,--follow", &options.follow, true, "go on until the task ends");
  verb.value("--run", "N", &options.run, integer_between({1, 1'000'000'000}), "only this run");
  verb.json(&options.format, "print one JSON object a line");
}

constexpr int kPageRecords = 200;

class LogPrinter {
 public:
  LogPrinter(TaskQueue& queue, const LogsOptions& options, Context& context)
      : queue_(queue), options_(options), context_(context) {}

  // Prints what came since the last call.
  Status print_new() {
    while (context_.out.open()) {
      const auto page = queue_.log(options_.id, after_, kPageRecords);
      if (!page) return std::unexpected(page.error());
      for (const LogRecord& record : page->records) print(record);
      if (page->records.size() < static_cast<std::size_t>(kPageRecords)) return {};
    }
    return {};
  }

 private:
  void print(const LogRecord& record) {
    after_ = record.seq;
    if (options_.run && record.run != *options_.run) return;
    if (options_.format == Format::kJson) return context_.out.line(to_json(record));
    if (record.left_out_before > 0)
      context_.say(fmt::format("… {} left out …", counted(record.left_out_before, "byte")));
    const bool terminal = context_.out.look().terminal;
    if (terminal && run_ != 0 && record.run != run_) context_.say(fmt::format("run {}", record.run));
    run_ = record.run;
    for (const TranscriptLine& line : lines_.feed(record)) {
      context_.out.write(transcript_text(line, context_.out.look()));
    }
    if (record.stream == LogStream::kTranscript) return;
    if (record.stream == LogStream::kDrover) {
      const std::string_view text = record.text;
      context_.say(text.substr(0, text.find_last_not_of('\n') + 1));
    } else {
      context_.out.write(terminal ? harmless(record.text) : record.text);
    }
  }

  TaskQueue& queue_;
  const LogsOptions& options_;
  Context& context_;
  TranscriptLines lines_;
  std::int64_t after_ = 0;
  int run_ = 0;
};

// The runs of a task are numbered without gaps.
Status check_run(const Task& task, const LogsOptions& options) {
  if (!options.run || *options.run <= task.run) return {};
  const std::string has = task.run == 0 ? "it has not run yet" : fmt::format("its latest is run {}", task.run);
  return drover::fail(ErrorCode::kNotFound,
                      fmt::format("there is no run {} of task {}: {}", *options.run, task.id.to_string(), has));
}

int run(const LogsOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  LogPrinter printer(queue, options, context);
  const Interrupts interrupts;
  const auto end = watch(queue, std::nullopt, [&]() -> Result<Seen> {
    // The state first: a task that has ended writes no more.
    const auto task = queue.get(options.id);
    if (!task) return std::unexpected(task.error());
    if (auto printed = printer.print_new(); !printed) return std::unexpected(printed.error());
    const bool done = !options.follow || is_terminal(task->state) || !context.out.open();
    if (!done) return Seen::kNotYet;
    if (auto known = check_run(*task, options); !known) return std::unexpected(known.error());
    return Seen::kDone;
  });
  return end ? kExitOk : context.fail(end.error());
}

}  // namespace

void add_logs(Verbs& verbs) {
  verbs.add<LogsOptions>({.name = "logs",
                          .summary = "Print what a task's runs wrote",
                          .footer =
                              R"(What runs wrote goes to stdout, what Drover says of them to stderr.

Examples:
  drover logs -f 01920f5e-7a3c-7def-8123-456789abcdef)"},
                         define, run);
}

}  // namespace drover::cli
