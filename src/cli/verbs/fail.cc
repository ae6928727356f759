// drover fail: a run says through its own door why it is about to fail.
#include "cli/verb.h"
#include "core/error_class.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct FailOptions {
  ErrorClass error_class = ErrorClass::kAgentError;
  std::optional<Millis> retry_after;
  std::optional<std::string> note;
  std::string message = "the run reported that it failed";
};

void define(Verb& verb, FailOptions& options) {
  verb.value("--class", "CLASS", &options.error_class, parse_reported_class,
             "why it fails: rate_limited, quota_exhausted, overloaded, auth, invalid, ... (default agent_error)");
  verb.value("--retry-after", "D", &options.retry_after, parse_duration, "how long to wait before the next run");
  verb.value("--note", "TEXT", &options.note, read_text, "what the next run should know");
  verb.value("MESSAGE", "", &options.message, read_text, "what went wrong");
}

int run(const FailOptions& options, Context& context) {
  const std::string* url = context.environment.find("DROVER_URL");
  if (url == nullptr) {
    return context.fail({ErrorCode::kInvalidArgument, "DROVER_URL is not set: run this command inside a task", {}});
  }
  const auto reported = report_failure(*url, {.error_class = options.error_class,
                                              .message = options.message,
                                              .retry_after = options.retry_after,
                                              .note = options.note});
  return reported ? kExitOk : context.fail(reported.error());
}

}  // namespace

void add_fail(Verbs& verbs) {
  verbs.add<FailOptions>({.name = "fail",
                          .summary = "Say why this run fails, from inside a task",
                          .footer =
                              R"(Works inside a task, through the socket in DROVER_URL. The program then exits, with any
code: what was said last counts. The class decides what follows: a retry, a later run
or a dead letter (docs/guide/retries-and-failures.md).

Examples:
  drover fail --class rate_limited --retry-after 30s 'the provider is busy'; exit 1
  drover fail --class invalid --note 'the branch is gone' 'cannot check out main'; exit 1)"},
                         define, run);
}

}  // namespace drover::cli
