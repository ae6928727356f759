// drover ask: from inside a task, through its own door.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/try.h"
#include "cli/verb.h"
#include "core/question_json.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct AskOptions {
  QuestionSpec question;
  std::optional<std::string> default_word;
  Millis wait = kAnswerWait;
  Format format = Format::kAuto;
};

void define(Verb& verb, AskOptions& options) {
  verb.value("TEXT", "", &options.question.text, read_text, "the question").required();
  verb.list("--option", "X", &options.question.options, read_text, "an answer to choose from; several times");
  verb.value("--schema", "JSON", &options.question.schema, read_text, "a JSON Schema that the answer must match");
  verb.value("--default", "X", &options.default_word, read_text, "the answer if nobody gives one in time");
  verb.value("--expires", "D", &options.question.expires, parse_duration,
             "how long the question may be open; default 7d, at most 30d");
  verb.value("--wait", "D", &options.wait, parse_duration,
             "how long to wait here before the task suspends; default 2m, 0s for not at all");
  verb.choice("--to", "human|spawner", &options.question.to, "who is asked; default human");
  verb.value("--key", "K", &options.question.key, read_text,
             "names the question within the task; default a hash of the text");
  verb.json(&options.format, "print the question as JSON");
}

// Waits at the door, a little at a time; as long as it takes if the task may not run again.
Result<Question> await_answer(const std::string& url, const AskOptions& options) {
  QuestionSpec spec = options.question;
  if (options.default_word) spec.default_answer = answer_from_word({.schema = spec.schema}, *options.default_word);
  auto question = TRY(ask_at_door(url, spec, options.wait));
  if (question.state != QuestionState::kOpen) return question;
  const auto may_suspend = TRY(may_suspend_at_door(url));
  const MonoTime until = system_clock().mono() + options.wait;
  while (question.state == QuestionState::kOpen) {
    const Millis left = may_suspend ? until - system_clock().mono() : kDoorWaitMax;
    if (left <= Millis{0}) break;
    question = TRY(question_at_door(url, question.id, std::min(left, kDoorWaitMax)));
  }
  return question;
}

int run(const AskOptions& options, Context& context) {
  const auto url = context.door();
  if (!url) return context.fail(url.error());
  const auto question = await_answer(*url, options);
  if (!question) return context.fail(question.error());
  if (options.format == Format::kJson) context.out.line(to_json(*question));
  const std::string id = question->id.to_string();
  switch (question->state) {
    case QuestionState::kAnswered:
      if (options.format != Format::kJson) context.out.line(answer_to_word(question->answer.value_or("null")));
      return kExitOk;
    case QuestionState::kOpen:
      context.say(fmt::format("question {} is open: exit with {} now, and the task runs again once it is answered", id,
                              kExitAwaitsAnswer));
      return kExitAwaitsAnswer;
    case QuestionState::kExpired:
      return context.fail({ErrorCode::kWrongState, fmt::format("nobody answered question {} in time", id), {}});
    case QuestionState::kWithdrawn:
      break;
  }
  return context.fail({ErrorCode::kWrongState, fmt::format("question {} was withdrawn: {}", id, question->why), {}});
}

}  // namespace

void add_ask(Verbs& verbs) {
  verbs.add<AskOptions>(
      {.name = "ask",
       .summary = "Ask a person from inside a task",
       .footer =
           R"(Works inside a task, through the socket in DROVER_URL. Prints the answer. Timeouts stand still while it waits.

If nobody answers within --wait, it exits with 75. A program that then exits with 75, too, suspends its task: no process, slot,
lease or attempt is held until the answer is there. The task runs again, asks the same, and gets the answer at once. Agents that
can resume are suspended by their worker. A task that may run at most once waits as long as it takes.

Examples:
  answer=$(drover ask 'Deploy to production?' --option yes --option no) || exit $?
  drover ask 'Which branch?' --default main --expires 1h --wait 0s)"},
      define, run);
}

}  // namespace drover::cli
