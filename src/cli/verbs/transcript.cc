// drover transcript: what a task's agents said and did, followed until the task ends if so wished.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/project.h"
#include "cli/transcript_view.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "core/transcript.h"

namespace drover::cli {
namespace {

constexpr int kPageRecords = 200;

struct TranscriptOptions {
  TaskId id;
  std::optional<int> run;  // only this one
  bool follow = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, TranscriptOptions& options) {
  verb.task_id(&options.id);
  verb.flag("-f,--follow", &options.follow, true, "go on until the task ends");
  verb.value("--run", "N", &options.run, integer_between({1, 1'000'000'000}), "only this run");
  verb.json(&options.format, "print one JSON object a line");
}

class TranscriptPrinter {
 public:
  TranscriptPrinter(TaskQueue& queue, const TranscriptOptions& options, Context& context)
      : queue_(queue), options_(options), context_(context) {}

  // Prints what came since the last call.
  Status print_new() {
    while (context_.out.open()) {
      const auto page = queue_.log(options_.id, after_, kPageRecords);
      if (!page) return std::unexpected(page.error());
      for (const LogRecord& record : page->records) {
        after_ = record.seq;
        if (record.left_out_before > 0)
          context_.say(fmt::format("… {} left out …", counted(record.left_out_before, "byte")));
        for (const TranscriptLine& line : lines_.feed(record)) print(line);
      }
      if (page->records.size() < static_cast<std::size_t>(kPageRecords)) return {};
    }
    return {};
  }

  [[nodiscard]] bool printed_anything() const { return run_ != 0; }

 private:
  void print(const TranscriptLine& line) {
    if (options_.run && line.run != *options_.run) return;
    const bool is_next_run = run_ != 0 && line.run != run_;
    run_ = line.run;
    if (options_.format == Format::kJson) return context_.out.line(to_json(line));
    if (is_next_run) context_.say(fmt::format("run {}", line.run));
    context_.out.write(transcript_text(line, context_.out.look()));
  }

  TaskQueue& queue_;
  const TranscriptOptions& options_;
  Context& context_;
  TranscriptLines lines_;
  std::int64_t after_ = 0;
  int run_ = 0;
};

int run(const TranscriptOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  TranscriptPrinter printer(queue, options, context);
  const Interrupts interrupts;
  const auto end = watch(queue, std::nullopt, [&]() -> Result<Seen> {
    // The state first: a task that has ended writes no more.
    const auto task = queue.get(options.id);
    if (!task) return std::unexpected(task.error());
    if (auto printed = printer.print_new(); !printed) return std::unexpected(printed.error());
    const bool done = !options.follow || is_terminal(task->state) || !context.out.open();
    return done ? Seen::kDone : Seen::kNotYet;
  });
  if (!end) return context.fail(end.error());
  if (!printer.printed_anything())
    context.say("there is no transcript: only agents of a preset leave one; see `drover logs`");
  return kExitOk;
}

}  // namespace

void add_transcript(Verbs& verbs) {
  verbs.add<TranscriptOptions>(
      {.name = "transcript",
       .summary = "Show what a task's agents said and did",
       .footer =
           R"(Words of the model, tools that it called and what they answered, retries, errors and the result. Very long texts
are cut; all that the agent printed is in the run's folder on its worker's machine.

Examples:
  drover transcript -f 01920f5e-7a3c-7def-8123-456789abcdef
  drover transcript --json 01920f5e-7a3c-7def-8123-456789abcdef | jq .event.kind)"},
      define, run);
}

}  // namespace drover::cli
