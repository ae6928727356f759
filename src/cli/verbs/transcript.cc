// drover transcript: what a task's agents said and did, followed until the task ends if so wished.
#include "core/transcript.h"
#include "cli/log_follow.h"
#include "cli/transcript_view.h"
#include "cli/verb.h"

namespace drover::cli {
namespace {

int run_transcript(const LogFollowOptions& options, Context& context) {
  TranscriptLines lines;
  bool is_empty = true;
  const Status followed = follow_log(options, context, [&](const LogRecord& record) {
    for (const TranscriptLine& line : lines.feed(record)) {
      is_empty = false;
      if (options.format == Format::kJson) {
        context.out.line(to_json(line));
      } else {
        context.out.write(transcript_text(line, context.out.look()));
      }
    }
  });
  if (!followed) return context.fail(followed.error());
  if (is_empty)
    context.say(
        "this task has no transcript: only agents with a preset and runs that ask write one; see `drover logs`");
  return kExitOk;
}

}  // namespace

void add_transcript(Verbs& verbs) {
  verbs.add<LogFollowOptions>(
      {.name = "transcript",
       .summary = "Show what a task's agents said and did",
       .footer =
           R"(Shows the model's text, the tools it called and their answers, the questions that it asked people and what was answered,
retries, errors and the result. Very long texts are cut; the complete output is in the run's folder on the worker's machine.

Examples:
  drover transcript -f 01920f5e-7a3c-7def-8123-456789abcdef
  drover transcript --json 01920f5e-7a3c-7def-8123-456789abcdef | jq .event.kind)"},
      define, run_transcript);
}

}  // namespace drover::cli
