// drover logs: what a task's runs wrote, followed until the task ends if so wished.
#include "cli/display_text.h"
#include "cli/log_follow.h"
#include "cli/transcript_view.h"
#include "cli/verb.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

class LogPrinter {
 public:
  explicit LogPrinter(Context& context) : context_(context) {}

  void print(const LogRecord& record) {
    for (const TranscriptLine& line : lines_.feed(record)) {
      context_.out.write(transcript_text(line, context_.out.look()));
    }
    const std::string_view text = record.text;
    if (record.stream == LogStream::kTranscript) return;
    if (record.stream == LogStream::kDrover) return context_.say(text.substr(0, text.find_last_not_of('\n') + 1));
    context_.out.write(context_.out.look().terminal ? harmless(text) : record.text);
  }

 private:
  Context& context_;
  TranscriptLines lines_;
};

int run_logs(const LogFollowOptions& options, Context& context) {
  LogPrinter printer(context);
  const Status followed = follow_log(options, context, [&](const LogRecord& record) {
    if (options.format == Format::kJson) return context.out.line(to_json(record));
    printer.print(record);
  });
  return followed ? kExitOk : context.fail(followed.error());
}

}  // namespace

void add_logs(Verbs& verbs) {
  verbs.add<LogFollowOptions>({.name = "logs",
                               .summary = "Print the output of a task's runs",
                               .footer =
                                   R"(The output of the runs goes to stdout, Drover's own remarks about them to stderr.

Examples:
  drover logs -f 01920f5e-7a3c-7def-8123-456789abcdef)"},
                              define, run_logs);
}

}  // namespace drover::cli
