// drover progress: from inside a task, through its own door.
#include "cli/verb.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct ProgressOptions {
  int percent = 0;
  std::string message;
};

void define(Verb& verb, ProgressOptions& options) {
  verb.value("PERCENT", "", &options.percent, integer_between({0, 100}), "0 to 100").required();
  verb.value("MESSAGE", "", &options.message, read_text, "what is being done");
}

int run(const ProgressOptions& options, Context& context) {
  const auto url = context.door();
  if (!url) return context.fail(url.error());
  const auto reported = report_progress(*url, {options.percent, options.message});
  return reported ? kExitOk : context.fail(reported.error());
}

}  // namespace

void add_progress(Verbs& verbs) {
  verbs.add<ProgressOptions>({.name = "progress",
                              .summary = "Report progress from inside a task",
                              .footer =
                                  R"(Works inside a task, through the socket in DROVER_URL.

Examples:
  drover progress 40 'running the tests')"},
                             define, run);
}

}  // namespace drover::cli
