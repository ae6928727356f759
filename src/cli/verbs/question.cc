// drover question: what tasks ask, for those who answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/question_json.h"
#include "core/task_filter.h"

namespace drover::cli {
namespace {

constexpr int kQuestionsListed = 100;

struct QuestionListOptions {
  QuestionFilter filter;
  bool all = false;
  int limit = kQuestionsListed;
  std::optional<std::string> cursor;
  Format format = Format::kAuto;
};

struct QuestionShowOptions {
  std::string id;
  Format format = Format::kAuto;
};

struct QuestionAnswerOptions {
  std::string id;
  std::string value;
  bool as_json = false;
  Format format = Format::kAuto;
};

struct QuestionWithdrawOptions {
  std::string id;
  std::string reason;
  Format format = Format::kAuto;
};

Result<std::optional<QuestionState>> read_question_state(std::string_view word) {
  const auto state = parse_question_state(word);
  if (!state) return fail(ErrorCode::kInvalidArgument, "expected open, answered, expired or withdrawn");
  return std::optional(*state);
}

void define(Verb& verb, QuestionListOptions& options) {
  verb.value("--state", "S", &options.filter.state, read_question_state,
             "only those that are open, answered, expired or withdrawn; default open");
  verb.flag("--all", &options.all, true, "in any state");
  verb.task("--task", "ID", &options.filter.task_id, "only those that this task asked");
  verb.value("--owner", "O", &options.filter.owner, read_text, "only those of this owner");
  verb.value("--limit", "N", &options.limit, integer_between({1, kPageMax}),
             fmt::format("show at most N; default {}", kQuestionsListed));
  verb.value("--cursor", "C", &options.cursor, read_text, "continue a list that was cut off");
  verb.formats(&options.format, "print a JSON array of questions");
}

void define_question_id(Verb& verb, std::string* id) {
  verb.value("ID", "", id, read_text, "the question, the beginning of its id, or the task that asks it").required();
}

void define(Verb& verb, QuestionShowOptions& options) {
  define_question_id(verb, &options.id);
  verb.json(&options.format, "print the question as JSON");
}

void define(Verb& verb, QuestionAnswerOptions& options) {
  define_question_id(verb, &options.id);
  verb.value("VALUE", "", &options.value, read_text, "the answer").required();
  verb.flag("--raw", &options.as_json, true, "the answer is JSON");
  verb.json(&options.format, "print the question as JSON");
}

void define(Verb& verb, QuestionWithdrawOptions& options) {
  define_question_id(verb, &options.id);
  verb.value("--reason", "R", &options.reason, read_text, "why; the task is told");
  verb.json(&options.format, "print the question as JSON");
}

// The one open question of a task.
Result<Question> question_of_task(TaskQueue& queue, const TaskId& task) {
  auto page = TRY(queue.questions({.state = QuestionState::kOpen, .task_id = task}, kPageMax, std::nullopt));
  if (page.questions.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no question {}, and no task with that id has an open one", task.to_string()));
  }
  if (page.questions.size() > 1) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("task {} has {} open questions: name one of them",
                                                         task.to_string(), page.questions.size()));
  }
  return std::move(page.questions.front());
}

// By its id, by what only the id of one open question begins with, or by its task.
Result<Question> find_question(TaskQueue& queue, const std::string& text) {
  if (const auto id = QuestionId::parse(text)) {
    auto question = queue.question(*id);
    const bool is_found = question || question.error().code != ErrorCode::kNotFound;
    return is_found ? question : question_of_task(queue, TaskId(id->bytes()));
  }
  if (text.size() < kIdPrefixMin) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is too short: give at least {} characters of the id",
                                                         quoted_excerpt(text), kIdPrefixMin));
  }
  auto page = TRY(queue.questions({.state = QuestionState::kOpen}, kPageMax, std::nullopt));
  std::erase_if(page.questions, [&](const Question& one) { return !one.id.to_string().starts_with(text); });
  if (page.questions.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no open question {}", quoted_excerpt(text)));
  }
  if (page.questions.size() > 1) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} open questions begin with {}; type more of the id",
                                                         page.questions.size(), quoted_excerpt(text)));
  }
  return std::move(page.questions.front());
}

std::string subject_of_question(const Question& question) {
  return question.task_id ? question.task_id->to_string() : question.gate.value_or("");
}

Table question_table(const std::vector<Question>& questions) {
  Table table(
      {{"QUESTION"}, {"STATE"}, {"OF"}, {"OWNER", Fit::kElastic}, {"ASKED", Fit::kSpare}, {"TEXT", Fit::kRest}});
  for (const Question& question : questions) {
    table.add({question.id.to_string(), std::string(name_of(question.state)), subject_of_question(question),
               question.owner, format_time(question.asked_at), one_line(question.text)});
  }
  return table;
}

int print_question(const Question& question, Format format, Context& context) {
  if (format == Format::kJson) {
    context.out.line(to_json(question));
    return kExitOk;
  }
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) context.out.line(fmt::format("{:<12}{}", name, one_line(value)));
  };
  row("question", question.id.to_string());
  row(question.task_id ? "task" : "gate", subject_of_question(question));
  row("owner", question.owner);
  row("state", std::string(name_of(question.state)));
  row("asked", format_time(question.asked_at));
  if (question.expires_at) row("expires", format_time(*question.expires_at));
  row("to", std::string(name_of(question.to)));
  row("text", question.text);
  row("options", fmt::format("{}", fmt::join(question.options, ", ")));
  row("schema", question.schema.value_or(""));
  if (question.default_answer) row("default", answer_to_word(*question.default_answer));
  if (question.answer) row("answer", answer_to_word(*question.answer));
  row("answered by", question.answered_by.value_or(""));
  row("why", question.why);
  return kExitOk;
}

int run(const QuestionListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  QuestionFilter filter = options.filter;
  if (!filter.state && !options.all) filter.state = QuestionState::kOpen;
  const auto page = (*opened)->queue().questions(filter, options.limit, options.cursor);
  if (!page) return context.fail(page.error());
  print(Listing<Question>{.items = page->questions,
                          .nothing = "no questions",
                          .name = [](const Question& question) { return question.id.to_string(); },
                          .table = [&] { return question_table(page->questions); }},
        options.format, context);
  const std::optional<std::string>& cursor = page->cursor;
  if (cursor) context.say(fmt::format("there may be more: add --cursor {} to continue", *cursor));
  return kExitOk;
}

int run(const QuestionShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto question = find_question((*opened)->queue(), options.id);
  return question ? print_question(*question, options.format, context) : context.fail(question.error());
}

Result<Question> answer_it(TaskQueue& queue, const QuestionAnswerOptions& options) {
  const auto question = TRY(find_question(queue, options.id));
  const JsonText value = options.as_json ? options.value : answer_from_word(question, options.value);
  return queue.answer(question.id, {.value = value, .by = who()});
}

int run(const QuestionAnswerOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto question = answer_it((*opened)->queue(), options);
  if (!question) return context.fail(question.error());
  if (options.format == Format::kJson) return print_question(*question, options.format, context);
  context.say(fmt::format("question {} is answered", question->id.to_string()));
  return kExitOk;
}

Result<Question> withdraw_it(TaskQueue& queue, const QuestionWithdrawOptions& options) {
  const auto question = TRY(find_question(queue, options.id));
  return queue.withdraw_question(question.id, {.by = who(), .why = options.reason});
}

int run(const QuestionWithdrawOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto question = withdraw_it((*opened)->queue(), options);
  if (!question) return context.fail(question.error());
  if (options.format == Format::kJson) return print_question(*question, options.format, context);
  context.say(fmt::format("question {} is withdrawn", question->id.to_string()));
  return kExitOk;
}

}  // namespace

void add_question(Verbs& verbs) {
  Verbs& family = verbs.family(
      {.name = "question",
       .summary = "List and answer what tasks ask",
       .footer =
           R"(Tasks ask with `drover ask`. A task whose question is open holds no slot. Gates ask whether a budget is to be raised, if the
budget says on_breach: ask.

Examples:
  drover question list
  drover question answer 01920f5e-7a3c-7def-8123-456789abcdef yes)"});
  family.add<QuestionListOptions>({.name = "list",
                                   .summary = "List questions, newest first",
                                   .footer = R"(Shows open questions, unless --state or --all says otherwise.

Examples:
  drover question list
  drover question list --all --task 01920f5e --json)"},
                                  define, run);
  family.add<QuestionShowOptions>({.name = "show", .summary = "Show one question", .footer = R"(Examples:
  drover question show 01920f5e-7a3c-7def-8123-456789abcdef)"},
                                  define, run);
  family.add<QuestionAnswerOptions>(
      {.name = "answer",
       .summary = "Answer a question",
       .footer =
           R"(The answer is one of the question's options, if it has any. If it has a schema, VALUE is read as JSON, else it is a text.
The first answer wins.

Examples:
  drover question answer 01920f5e-7a3c-7def-8123-456789abcdef yes
  drover question answer 01920f5e-7a3c-7def-8123-456789abcdef '{"replicas": 3}' --raw)"},
      define, run);
  family.add<QuestionWithdrawOptions>({.name = "withdraw",
                                       .summary = "Withdraw a question, so that its task goes on without an answer",
                                       .footer = R"(Examples:
  drover question withdraw 01920f5e-7a3c-7def-8123-456789abcdef --reason 'not needed any more')"},
                                      define, run);
}

}  // namespace drover::cli
