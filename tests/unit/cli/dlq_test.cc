// dlq: its grammar, its tables and its progress bar.
#include <gtest/gtest.h>

#include "captured_output.h"
#include "cli/dlq_view.h"
#include "cli/parse.h"
#include "cli/progress_bar.h"
#include "support/must.h"

namespace drover::cli {
namespace {

using DlqWords = std::vector<std::string>;
using MaybeWord = std::optional<std::string>;
using test::must;

constexpr Time kReadAt{Millis{1'800'000'000'000}};
const std::string kLetter = "01920f5e-7a3c-7def-8123-456789abcdef";
const std::string kKind = "3f2a9c41d07b";

Invocation dlq_parsed(const DlqWords& words) {
  auto invocation = parse_command_line(words);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return *std::move(invocation);
}

std::string dlq_complaint(const DlqWords& words) {
  const auto invocation = parse_command_line(words);
  return invocation ? "" : invocation.error().message;
}

TEST(DlqGrammar, ListTakesAFilter) {
  const Invocation list = dlq_parsed({"dlq",     "list",     "--fingerprint",
                                      kKind,     "--class",  "timeout",
                                      "--type",  "t",        "--queue",
                                      "q",       "--owner",  "o",
                                      "--tag",   "x",        "--escalated",
                                      "no",      "--before", "2026-11-16T00:00:00Z",
                                      "--tasks", "--limit",  "5",
                                      "--json"});
  EXPECT_EQ(list.command, "dlq list");
  EXPECT_EQ(list.value<MaybeWord>("--fingerprint"), kKind);
  EXPECT_EQ(list.value<std::optional<ErrorClass>>("--class"), ErrorClass::kTimeout);
  EXPECT_EQ(list.value<AnyOf>("--type"), AnyOf("t"));
  EXPECT_EQ(list.value<AnyOf>("--queue"), AnyOf("q"));
  EXPECT_EQ(list.value<AnyOf>("--owner"), AnyOf("o"));
  EXPECT_EQ(list.value<AnyOf>("--tag"), AnyOf("x"));
  EXPECT_EQ(list.value<std::optional<bool>>("--escalated"), false);
  EXPECT_EQ(list.value<std::optional<Time>>("--before"), must(parse_time("2026-11-16T00:00:00Z")));
  EXPECT_TRUE(list.value<bool>("--tasks"));
  EXPECT_EQ(list.value<int>("--limit"), 5);
  EXPECT_EQ(list.value<Format>("--json"), Format::kJson);
}

TEST(DlqGrammar, ShowTakesATaskOrAKind) {
  using TaskOrKind = std::variant<TaskId, std::string>;
  EXPECT_EQ(dlq_parsed({"dlq", "show", kKind}).value<TaskOrKind>("ID|FINGERPRINT"), TaskOrKind(kKind));
  EXPECT_EQ(dlq_parsed({"dlq", "show", kLetter}).value<TaskOrKind>("ID|FINGERPRINT"),
            TaskOrKind(TaskId::parse(kLetter).value()));
  EXPECT_NE(dlq_complaint({"dlq", "show", "x"}).find("neither a task id nor a fingerprint"), std::string::npos);
}

TEST(DlqGrammar, AVerdictNamesTasksOrAFilter) {
  const Invocation retry = dlq_parsed({"dlq", "retry", kLetter, kLetter, "--patch", R"({"a": 1})"});
  EXPECT_EQ(retry.command, "dlq retry");
  EXPECT_EQ(retry.value<std::vector<TaskId>>("ID").size(), 2U);
  EXPECT_EQ(retry.value<std::optional<JsonText>>("--patch"), R"({"a":1})");
  const Invocation all = dlq_parsed({"dlq", "delete", "--all", "-y", "--dry-run", "--reason", "noise"});
  EXPECT_EQ(all.command, "dlq delete");
  EXPECT_TRUE(all.value<bool>("--all") && all.value<bool>("--yes") && all.value<bool>("--dry-run"));
  EXPECT_EQ(all.value<std::string>("--reason"), "noise");
  const Invocation wait = dlq_parsed({"dlq", "wait", "--class", "overloaded", "--for", "6h"});
  EXPECT_EQ(wait.command, "dlq wait");
  EXPECT_EQ(wait.value<std::optional<Millis>>("--for"), Millis{6 * 3'600'000});
  const Invocation escalate = dlq_parsed({"dlq", "escalate", kLetter, "--to", "ada"});
  EXPECT_EQ(escalate.command, "dlq escalate");
  EXPECT_EQ(escalate.value<std::string>("--to"), "ada");
}

TEST(DlqGrammar, RefusesWhatIsNotClear) {
  const std::vector<std::pair<DlqWords, std::string>> cases{
      {{"dlq", "retry"}, "say which tasks: ids, a filter, or --all"},
      {{"dlq", "retry", kLetter, "--all"}, "ids or a filter, not both"},
      {{"dlq", "retry", kLetter, "--type", "t"}, "ids or a filter, not both"},
      {{"dlq", "retry", kLetter, "--payload", "1", "--patch", "{}"}, "give one of them"},
      {{"dlq", "retry", kLetter, "--patch", "{"}, "--patch"},
      {{"dlq", "wait", kLetter}, "give one of them"},
      {{"dlq", "wait", kLetter, "--for", "1h", "--until", "2026-11-16T00:00:00Z"}, "give one of them"},
      {{"dlq", "escalate", kLetter}, "--to is missing"},
      {{"dlq", "list", "--class", "timeot"}, "did you mean timeout?"},
      {{"dlq", "list", "--escalated", "maybe"}, "is not one of no, yes"},
      {{"dlq"}, "name a command"},
  };
  for (const auto& [words, part] : cases) {
    EXPECT_NE(dlq_complaint(words).find(part), std::string::npos) << dlq_complaint(words);
  }
}

ErrorGroup letter_kind() {
  return {.fingerprint = kKind,
          .error_class = ErrorClass::kInvalid,
          .pattern = "line <n> is bad",
          .count = 12,
          .escalated = 2,
          .types = {"a", "b"},
          .first_at = kReadAt - Millis{60'000},
          .last_at = kReadAt - Millis{5'000},
          .example = TaskId::parse(kLetter).value()};
}

TEST(DlqView, KindsAsATableAndAsLines) {
  const std::vector<ErrorGroup> groups{letter_kind(), {.pattern = "(other)", .count = 3}};
  EXPECT_EQ(group_table(groups, kReadAt).render({.terminal = true, .width = 100}),
            "FINGERPRINT   CLASS    COUNT  LAST    TYPES  ERROR\n"
            "3f2a9c41d07b  invalid  12     5s      a,b    line <n> is bad\n"
            "-             -        3      20833d         (other)\n");
  EXPECT_EQ(group_table({groups.data(), 1}, kReadAt).render({}),
            "3f2a9c41d07b\tinvalid\t12\t2\t2027-01-15T07:59:00.000Z\t2027-01-15T07:59:55.000Z\t" + kLetter +
                "\ta,b\tline <n> is bad\n");
}

TEST(DlqView, ADeadLetterWithWhatItsRunsWrote) {
  Task task;
  task.id = TaskId::parse(kLetter).value();
  task.type = "fetch";
  task.state = TaskState::kFailed;
  task.error = TaskError{ErrorClass::kInvalid, "page 3 is gone"};
  task.escalation = Escalation{.to = "ada", .by = "bob", .why = "look", .at = kReadAt};
  const std::vector<RunWithOutput> runs{
      {.run = {.run = 1, .worker_id = "w", .started_at = kReadAt, .ended_at = kReadAt, .outcome = "failed"},
       .output_tail = "one\n\x1b[31mtwo\n"}};
  const std::string page = dead_letter_page(task, runs, kReadAt, {.terminal = true, .width = 100});
  EXPECT_NE(page.find("run 1 wrote at its end:\n    one\n    two\n"), std::string::npos) << page;
  EXPECT_NE(page.find("to ada by bob at 2027-01-15T08:00:00.000Z: look"), std::string::npos) << page;
  const std::string json = dead_letter_json(task, runs);
  EXPECT_NE(json.find(R"("evidence":null,"output_tail":"one\n\u001b[31mtwo\n"}]})"), std::string::npos) << json;
}

TEST(ProgressBar, IsDrawnOnceTheWorkTakesAMoment) {
  CapturedOutput captured({.terminal = true, .width = 80});
  const MonoTime start{};
  {
    ProgressBar bar(captured.output(), "retried", 200);
    bar.show(1, start);
    bar.show(2, start + Millis{499});
    EXPECT_EQ(captured.take(), "");
    bar.show(100, start + Millis{500});
    bar.show(101, start + Millis{550});  // too soon to be worth it
  }
  EXPECT_EQ(captured.take(), "\r\x1b[Kretried [###############...............] 100/200\r\x1b[K");
}

TEST(ProgressBar, IsNotForPrograms) {
  CapturedOutput captured({.terminal = false});
  ProgressBar bar(captured.output(), "retried", 2);
  bar.show(1, MonoTime{});
  bar.show(2, MonoTime{} + Millis{10'000});
  EXPECT_EQ(captured.take(), "");
}

}  // namespace
}  // namespace drover::cli
