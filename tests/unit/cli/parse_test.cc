#include "cli/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agents/preset.h"
#include "base/clock.h"
#include "cli/completion_script.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using Args = std::vector<std::string>;
using test::must;

const std::string kId = "01920f5e-7a3c-7def-8123-456789abcdef";
const std::string kOtherId = "01920f5e-7a3c-7def-8123-456789abcde0";

TaskId id(const std::string& text = kId) {
  return TaskId::parse(text).value();
}

Invocation parsed(const Args& arguments) {
  auto invocation = parse_command_line(arguments);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return *std::move(invocation);
}

UsageError refused(const Args& arguments) {
  const auto invocation = parse_command_line(arguments);
  if (invocation) throw std::runtime_error("was accepted");
  return invocation.error();
}

// The value of one option, when nothing else is of interest.
template <class T>
T value_of(const std::string& name, const Args& arguments) {
  return parsed(arguments).value<T>(name);
}

using Text = std::string;
using MaybeText = std::optional<std::string>;
using Texts = std::vector<std::string>;

TEST(ParseTest, EnqueueTakesEveryFlag) {
  const Invocation enqueue = parsed({"enqueue",
                                     "review",
                                     "--payload",
                                     R"({"a":1})",
                                     "--prompt",
                                     "- look",
                                     "--queue",
                                     "eng",
                                     "--owner",
                                     "ada",
                                     "--priority",
                                     "high",
                                     "--delay",
                                     "90s",
                                     "--after",
                                     kId,
                                     "--after",
                                     kOtherId,
                                     "--request-id",
                                     "r-1",
                                     "--tag",
                                     "x",
                                     "--tag",
                                     "y",
                                     "--max-attempts",
                                     "5",
                                     "--retry",
                                     "list:1s,5s",
                                     "--timeout",
                                     "5m",
                                     "--idle-timeout",
                                     "30s",
                                     "--deadline",
                                     "2h",
                                     "--fallback",
                                     "null",
                                     "--on-parent-failure",
                                     "run",
                                     "--at-most-once",
                                     "--wait",
                                     "--json"});
  EXPECT_EQ(enqueue.command, "enqueue");
  EXPECT_EQ(enqueue.value<Text>("TYPE"), "review");
  EXPECT_EQ(enqueue.value<MaybeText>("--payload"), R"({"a":1})");
  EXPECT_EQ(enqueue.value<MaybeText>("--prompt"), "- look");
  EXPECT_EQ(enqueue.value<MaybeText>("--queue"), "eng");
  EXPECT_EQ(enqueue.value<MaybeText>("--owner"), "ada");
  EXPECT_EQ(enqueue.value<std::optional<int>>("--priority"), 2);
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--delay"), Millis{90'000});
  EXPECT_EQ(enqueue.value<std::vector<ParentRef>>("--after"), (std::vector<ParentRef>{id(), id(kOtherId)}));
  EXPECT_EQ(enqueue.value<MaybeText>("--request-id"), "r-1");
  EXPECT_EQ(enqueue.value<Texts>("--tag"), (Texts{"x", "y"}));
  EXPECT_EQ(enqueue.value<std::optional<int>>("--max-attempts"), 5);
  EXPECT_EQ(enqueue.value<std::optional<RetryPolicy>>("--retry"), must(parse_retry_policy("list:1s,5s")));
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--timeout"), Millis{300'000});
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--idle-timeout"), Millis{30'000});
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--deadline"), Millis{7'200'000});
  EXPECT_EQ(enqueue.value<MaybeText>("--fallback"), "null");
  EXPECT_EQ(enqueue.value<std::optional<OnParentFailure>>("--on-parent-failure"), OnParentFailure::kRun);
  EXPECT_EQ(enqueue.value<std::optional<bool>>("--at-most-once"), true);
  EXPECT_TRUE(enqueue.value<bool>("--wait"));
  EXPECT_EQ(enqueue.value<MaybeText>("--batch"), std::nullopt);
  EXPECT_EQ(enqueue.value<std::optional<Millis>>("--wait-timeout"), std::nullopt);
  EXPECT_EQ(enqueue.value<Format>("--json"), Format::kJson);
}

TEST(ParseTest, ValuesKeepTheirText) {
  for (const std::string value : {R"([1,2])", R"({"a":[]})", "-5", "-", "@file", "--queue", "", "a=b", R"("x y")"}) {
    EXPECT_EQ(value_of<MaybeText>("--payload", {"enqueue", "t", "--payload", value}), value);
    EXPECT_EQ(value_of<MaybeText>("--payload", {"enqueue", "t", "--payload=" + value, "--tag", "x"}), value);
  }
  // A repeated flag takes one value, and leaves the type alone.
  EXPECT_EQ(value_of<Text>("TYPE", {"enqueue", "--tag", "x", "t"}), "t");
  // A type may be called like a verb.
  EXPECT_EQ(value_of<Text>("TYPE", {"enqueue", "list"}), "list");
}

TEST(ParseTest, EnqueueTakesABatchInstead) {
  EXPECT_EQ(value_of<MaybeText>("--batch", {"enqueue", "--batch", "-"}), "-");
  EXPECT_EQ(value_of<MaybeText>("--batch", {"enqueue", "--batch", "tasks.ndjson", "--wait"}), "tasks.ndjson");
}

TEST(ParseTest, EnqueueAtATime) {
  EXPECT_EQ(value_of<std::optional<Time>>("--at", {"enqueue", "t", "--at", "2026-11-15T19:50:37Z"}),
            must(parse_time("2026-11-15T19:50:37Z")));
}

TEST(ParseTest, Run) {
  const Invocation run = parsed({"run", "t", "--payload", "1", "--json"});
  EXPECT_EQ(run.command, "run");
  EXPECT_EQ(run.value<Text>("TYPE"), "t");
  EXPECT_EQ(run.value<MaybeText>("--payload"), "1");
  EXPECT_EQ(run.value<Format>("--json"), Format::kJson);
}

TEST(ParseTest, List) {
  const Invocation list = parsed({"list", "--type", "t", "--queue", "q", "--owner", "o", "--state", "running,failed",
                                  "--tag", "x", "--spawner", kId, "--limit", "7", "--cursor", "c", "--json"});
  EXPECT_EQ(list.command, "list");
  EXPECT_EQ(list.value<AnyOf>("--type"), AnyOf("t"));
  EXPECT_EQ(list.value<AnyOf>("--queue"), AnyOf("q"));
  EXPECT_EQ(list.value<AnyOf>("--owner"), AnyOf("o"));
  EXPECT_EQ(list.value<std::vector<TaskState>>("--state"), (std::vector{TaskState::kRunning, TaskState::kFailed}));
  EXPECT_EQ(list.value<AnyOf>("--tag"), AnyOf("x"));
  EXPECT_EQ(list.value<std::optional<TaskId>>("--spawner"), id());
  EXPECT_EQ(list.value<int>("--limit"), 7);
  EXPECT_EQ(list.value<MaybeText>("--cursor"), "c");
  EXPECT_EQ(list.value<Format>("--json"), Format::kJson);
  EXPECT_EQ(value_of<Format>("--json", {"list", "-q"}), Format::kName);
  EXPECT_EQ(value_of<Format>("--json", {"list", "-o", "wide"}), Format::kWide);
  EXPECT_EQ(value_of<Format>("--json", {"list", "--output=ndjson"}), Format::kNdjson);
  EXPECT_EQ(value_of<int>("--limit", {"list"}), kListLimitDefault);
  EXPECT_EQ(value_of<std::optional<Time>>("--since", {"list", "--since", "2026-11-15T17:00:00Z"}),
            *parse_time("2026-11-15T17:00:00Z"));
  const auto ago = value_of<std::optional<Time>>("--until", {"list", "--until", "2h"});
  EXPECT_LT(*ago, system_clock().wall() - Millis(7'199'000));
}

TEST(ParseTest, TasksByTheBeginningOfTheirIds) {
  const Invocation show = parsed({"show", "0197B7D4-5c"});
  ASSERT_EQ(show.prefixes.size(), 1U);
  EXPECT_EQ(show.prefixes[0].text, "0197b7d4-5c");
  show.prefixes[0].put(id());
  EXPECT_EQ(show.value<TaskId>("ID"), id());
  const Invocation enqueue = parsed({"enqueue", "t", "--after", kId, "--after", "0197"});
  ASSERT_EQ(enqueue.prefixes.size(), 1U);
  enqueue.prefixes[0].put(id(kOtherId));
  EXPECT_EQ(enqueue.value<std::vector<ParentRef>>("--after"), (std::vector<ParentRef>{id(), id(kOtherId)}));
  EXPECT_TRUE(parsed({"show", kId}).prefixes.empty());
}

TEST(ParseTest, VerbsAboutOneTask) {
  const Invocation show = parsed({"show", kId, "--runs"});
  EXPECT_EQ(show.value<TaskId>("ID"), id());
  EXPECT_TRUE(show.value<bool>("--runs"));
  EXPECT_EQ(show.value<Format>("--json"), Format::kAuto);
  const Invocation wait = parsed({"wait", kId, "--timeout", "500ms", "--json"});
  EXPECT_EQ(wait.value<std::vector<TaskId>>("ID"), std::vector{id()});
  EXPECT_FALSE(wait.value<bool>("--children"));
  EXPECT_EQ(wait.value<std::optional<Millis>>("--timeout"), Millis{500});
  EXPECT_TRUE(value_of<bool>("--children", {"wait", "--children"}));
  EXPECT_FALSE(wait.value<bool>("--quiet"));
  EXPECT_EQ(wait.value<Format>("--json"), Format::kJson);
  EXPECT_EQ(value_of<std::optional<Millis>>("--timeout", {"wait", kId, "--timeout", "0s"}), Millis{0});
  const Invocation logs = parsed({"logs", "-f", kId, "--run", "2"});
  EXPECT_EQ(logs.value<TaskId>("ID"), id());
  EXPECT_EQ(logs.value<std::optional<int>>("--run"), 2);
  EXPECT_TRUE(logs.value<bool>("--follow"));
  EXPECT_EQ(logs.value<Format>("--json"), Format::kAuto);
  const Invocation cancel = parsed({"cancel", kId, "--reason", "wrong branch"});
  EXPECT_EQ(cancel.value<std::vector<TaskId>>("ID"), std::vector{id()});
  EXPECT_EQ(cancel.value<Text>("--reason"), "wrong branch");
  EXPECT_FALSE(cancel.value<bool>("--dry-run"));
  EXPECT_TRUE(value_of<bool>("--dry-run", {"cancel", kId, "--dry-run"}));
  EXPECT_EQ(value_of<std::vector<TaskId>>("ID", {"retry", kId}), std::vector{id()});
  EXPECT_EQ(value_of<Text>("--reason", {"retry", kId}), "");
}

TEST(ParseTest, ManyByFilter) {
  const Invocation cancel = parsed({"cancel", "--type", "t", "--state", "pending", "--tag", "x", "--dry-run", "-y"});
  EXPECT_EQ(cancel.value<AnyOf>("--type"), AnyOf("t"));
  EXPECT_EQ(cancel.value<std::vector<TaskState>>("--state"), std::vector{TaskState::kPending});
  EXPECT_TRUE(cancel.value<bool>("--yes") && cancel.value<bool>("--dry-run"));
  EXPECT_EQ(value_of<AnyOf>("--tagged", {"edit", "--tagged", "x", "--tag", "y"}), AnyOf("x"));
  EXPECT_TRUE(value_of<bool>("--all", {"retry", "--all"}));
  for (const char* verb : {"cancel", "retry"}) {
    EXPECT_NE(refused({verb}).message.find("say which tasks: ids, a filter, or --all"), std::string::npos);
    EXPECT_NE(refused({verb, kId, "--type", "t"}).message.find("ids or a filter, not both"), std::string::npos);
    EXPECT_NE(refused({verb, kId, "--state", "failed"}).message.find("not both"), std::string::npos);
  }
  EXPECT_NE(refused({"events", "--name", "nonsense"}).message.find("no event has the name"), std::string::npos);
  EXPECT_EQ(value_of<Texts>("--name", {"events", "--name", "failed"}), Texts{"task.failed"});
}

TEST(ParseTest, Edit) {
  const Invocation edit = parsed(
      {"edit", kId, "--priority", "high", "--delay", "30s", "--payload", "[1]", "--tag", "a", "--tag", "b", "--json"});
  EXPECT_EQ(edit.value<std::vector<TaskId>>("ID"), std::vector{id()});
  EXPECT_EQ(edit.value<std::optional<int>>("--priority"), 2);
  EXPECT_EQ(edit.value<std::optional<Millis>>("--delay"), Millis{30'000});
  EXPECT_EQ(edit.value<MaybeText>("--payload"), "[1]");
  EXPECT_EQ(edit.value<Texts>("--tag"), (Texts{"a", "b"}));
  EXPECT_EQ(edit.value<Format>("--json"), Format::kJson);
  EXPECT_TRUE(value_of<std::optional<Time>>("--at", {"edit", kId, "--at", "2030-01-01T00:00:00Z"}));
  EXPECT_NE(refused({"edit", kId}).message.find("give something to change"), std::string::npos);
  EXPECT_NE(refused({"edit", kId, "--delay", "1s", "--at", "2030-01-01T00:00:00Z"}).message.find("give one of them"),
            std::string::npos);
}

TEST(ParseTest, Types) {
  EXPECT_EQ(value_of<Format>("--output", {"type", "list", "-o", "name"}), Format::kName);
  const Invocation show = parsed({"type", "show", "review", "--json"});
  EXPECT_EQ(show.command, "type show");
  EXPECT_EQ(show.value<Text>("TYPE"), "review");
  EXPECT_EQ(show.value<Format>("--json"), Format::kJson);
}

TEST(ParseTest, Events) {
  const Invocation events = parsed({"events", "-f", "--after", "0", "--limit", "3", "--json"});
  EXPECT_EQ(events.value<std::optional<std::int64_t>>("--after"), 0);
  EXPECT_EQ(events.value<std::optional<int>>("--limit"), 3);
  EXPECT_TRUE(events.value<bool>("--follow"));
  EXPECT_EQ(events.value<Format>("--json"), Format::kJson);
  const Invocation all = parsed({"events"});
  EXPECT_EQ(all.value<std::optional<std::int64_t>>("--after"), std::nullopt);
  EXPECT_EQ(all.value<std::optional<int>>("--limit"), std::nullopt);
  EXPECT_FALSE(all.value<bool>("--follow"));
  EXPECT_EQ(all.value<Format>("--json"), Format::kAuto);
}

TEST(ParseTest, Work) {
  for (const Args& arguments : {Args{"work", "--type", "a", "b", "--concurrency", "4", "--until-empty", "--lease", "3s",
                                     "--", "sh", "-c", "echo --json"},
                                Args{"work", "--type", "a", "--type", "b", "--concurrency", "4", "--until-empty",
                                     "--lease", "3s", "--heartbeat", "500ms", "--", "sh", "-c", "echo --json"}}) {
    const Invocation work = parsed(arguments);
    EXPECT_EQ(work.value<Texts>("--type"), (Texts{"a", "b"}));
    EXPECT_EQ(work.value<Texts>("--queue"), Texts{});
    EXPECT_EQ(work.value<std::optional<int>>("--concurrency"), 4);
    EXPECT_TRUE(work.value<bool>("--until-empty"));
    EXPECT_EQ(work.value<Millis>("--lease"), Millis{3'000});
    EXPECT_EQ(work.value<Millis>("--heartbeat"), Millis{500});
    EXPECT_EQ(work.value<Texts>("--"), (Texts{"sh", "-c", "echo --json"}));
  }
  EXPECT_EQ(value_of<Millis>("--heartbeat", {"work", "--queue", "q"}), Millis{5'000});
}

TEST(ParseTest, AHostIsANameWithoutAPort) {
  EXPECT_EQ(value_of<Texts>("--host", {"serve", "--host", "Queue.Example.com", "--host", "[::1]"}),
            (Texts{"queue.example.com", "[::1]"}));
  for (const char* bad : {"bad host", "", "a:7711", "http://a", "a/b", "[::1"}) {
    EXPECT_TRUE(refused({"serve", "--host", bad}).message.contains("--host")) << bad;
  }
}

TEST(ParseTest, OtherVerbs) {
  EXPECT_EQ(value_of<Texts>("--listen", {"up"}), Texts{});
  EXPECT_FALSE(value_of<bool>("--insecure", {"up"}));
  EXPECT_EQ(value_of<Texts>("--listen", {"up", "--listen", "127.0.0.1:8080"}), Texts{"127.0.0.1:8080"});
  EXPECT_EQ(value_of<int>("PERCENT", {"progress", "40", "half way"}), 40);
  EXPECT_EQ(value_of<Text>("MESSAGE", {"progress", "40", "half way"}), "half way");
  EXPECT_EQ(value_of<FsckMode>("--repair", {"fsck", "--repair"}), FsckMode::kRepair);
  EXPECT_EQ(value_of<Text>("FILE", {"config", "apply", "f.yaml"}), "f.yaml");
  EXPECT_FALSE(value_of<bool>("--dry-run", {"config", "apply", "f.yaml"}));
  EXPECT_TRUE(value_of<bool>("--dry-run", {"config", "apply", "-", "--dry-run"}));
  EXPECT_EQ(value_of<Format>("--json", {"config", "show", "--json"}), Format::kJson);
  EXPECT_EQ(value_of<Text>("FILE", {"trust"}), "drover.yaml");
  EXPECT_EQ(value_of<Text>("FILE", {"trust", "x.yaml"}), "x.yaml");
  const std::vector<std::string> parse{"runner", "parse", "codex", "-", "--stderr", "e", "--exit-code", "1", "--json"};
  EXPECT_EQ(value_of<const agents::Preset*>("PRESET", parse), agents::find_preset("codex"));
  EXPECT_EQ(value_of<Text>("FILE", parse), "-");
  EXPECT_EQ(value_of<Text>("--stderr", parse), "e");
  EXPECT_EQ(value_of<int>("--exit-code", parse), 1);
  EXPECT_EQ(value_of<Format>("--json", {"worker", "list"}), Format::kAuto);
  EXPECT_EQ(value_of<Shell>("bash|zsh|fish", {"completion", "fish"}), Shell::kFish);
  EXPECT_EQ(parsed({"--version"}).command, "--version");
}

TEST(ParseTest, Help) {
  for (const Args& arguments : {Args{}, Args{"--help"}, Args{"help"}}) {
    EXPECT_EQ(parsed(arguments).command, "help");
    EXPECT_EQ(value_of<Texts>("COMMAND", arguments), Texts{});
  }
  EXPECT_EQ(value_of<Texts>("COMMAND", {"help", "config", "apply"}), (Texts{"config", "apply"}));
  EXPECT_EQ(value_of<Texts>("COMMAND", {"config", "apply", "-h"}), (Texts{"config", "apply"}));
  // Help is given although what is required is missing.
  EXPECT_EQ(value_of<Texts>("COMMAND", {"show", "--help"}), Texts{"show"});
  // Common options hold for help, too.
  EXPECT_EQ(parsed({"--color", "never", "show", "--help"}).common.color, ColorChoice::kNever);
}

TEST(ParseTest, CommonOptionsStandBeforeOrAfterTheVerb) {
  const CommonOptions expected{.store = "memory:", .color = ColorChoice::kNever, .log_level = LogLevel::kDebug};
  EXPECT_EQ(parsed({"--store", "memory:", "--color", "never", "--log-level", "debug", "list"}).common, expected);
  EXPECT_EQ(parsed({"list", "--store", "memory:", "--color=never", "--log-level", "debug"}).common, expected);
  EXPECT_EQ(parsed({"config", "show", "--store", "memory:", "--color=never", "--log-level", "debug"}).common, expected);
}

// Every option of the command and of those below it, with a value and with an empty one.
void expect_switches_to_take_no_value(const CommandSpec& command, Args path, int& switches) {
  for (const FlagSpec& flag : command.flags) {
    for (const std::string& name : {flag.long_name, flag.short_name}) {
      if (name.empty()) continue;
      for (const std::string value : {"false", ""}) {
        Args arguments = path;
        arguments.push_back(name + "=" + value);
        const auto invocation = parse_command_line(arguments);
        const bool is_refused =
            !invocation && invocation.error().message == name + " takes no value; leave out =" + value;
        EXPECT_EQ(is_refused, flag.value.empty()) << testing::PrintToString(arguments);
      }
    }
    if (flag.value.empty()) ++switches;
  }
  for (const CommandSpec& child : command.commands) {
    path.push_back(child.name);
    expect_switches_to_take_no_value(child, path, switches);
    path.pop_back();
  }
}

TEST(UsageErrorTest, NoSwitchOfAnyVerbTakesAValue) {
  int switches = 0;
  expect_switches_to_take_no_value(describe_command_line(), {}, switches);
  EXPECT_GT(switches, 50);
}

TEST(UsageErrorTest, ASwitchThatIsAValueIsNotASwitch) {
  EXPECT_EQ(value_of<Text>("--reason", {"dlq", "delete", "--all", "--reason", "--yes=false"}), "--yes=false");
  EXPECT_EQ(value_of<Texts>("--", {"work", "--type", "t", "--", "agent", "--json=false"}),
            (Texts{"agent", "--json=false"}));
  EXPECT_EQ(refused({"dlq", "delete", "--all=false", "--yes"}).command, "drover dlq delete");
}

TEST(UsageErrorTest, SaysWhatIsWrong) {
  const struct {
    Args arguments;
    std::string_view says;
    std::string_view command;
  } rows[] = {
      {{"enquue", "t"}, R"(unknown command "enquue"; did you mean enqueue?)", "drover"},
      {{"frobnicate"}, R"(unknown command "frobnicate")", "drover"},
      {{"enqueue", "t", "--quue", "q"}, "unknown option --quue; did you mean --queue?", "drover enqueue"},
      {{"list", "--sate=failed"}, "unknown option --sate; did you mean --state?", "drover list"},
      {{"--stor", "x", "list"}, "unknown option --stor; did you mean --store?", "drover"},
      {{"config", "aply", "f"}, R"(unknown command "aply"; did you mean apply?)", "drover config"},
      {{"config"}, "name a command: apply, show, history, rollback", "drover config"},
      {{"show"}, "ID is missing", "drover show"},
      {{"show", kId, "more"}, R"(unexpected argument "more")", "drover show"},
      {{"show", "nonsense"},
       R"(ID: "nonsense" is not a task id; type all of it, or at least the first 4 characters)",
       "drover show"},
      {{"enqueue"}, "TYPE is missing; give one, or --batch FILE", "drover enqueue"},
      {{"enqueue", "t", "--batch", "-"}, "--batch: ", "drover enqueue"},
      {{"enqueue", "--batch", "-", "--queue", "q"}, "--batch: ", "drover enqueue"},
      {{"enqueue", "no good"}, "TYPE: expected 1 to 128 letters", "drover enqueue"},
      {{"enqueue", "t", "--payload"}, "--payload", "drover enqueue"},
      {{"enqueue", "t", "--queue", "a", "--queue", "b"}, "--queue", "drover enqueue"},
      {{"enqueue", "t", "--priority", "11"}, "--priority: ", "drover enqueue"},
      {{"enqueue", "t", "--delay", "5"}, "--delay: ", "drover enqueue"},
      {{"enqueue", "t", "--delay", "1s", "--at", "2026-11-15T19:50:37Z"}, "--delay and --at", "drover enqueue"},
      {{"enqueue", "t", "--at", "tomorrow"}, "--at: ", "drover enqueue"},
      {{"enqueue", "t", "--timeout", "0s"}, "--timeout: expected a duration from 1ms", "drover enqueue"},
      {{"enqueue", "t", "--retry", "sometimes"}, "--retry: ", "drover enqueue"},
      {{"enqueue", "t", "--max-attempts", "0"}, "--max-attempts: ", "drover enqueue"},
      {{"enqueue", "t", "--on-parent-failure", "cancle"}, "did you mean cancel?", "drover enqueue"},
      {{"list", "--state", "runing"}, "did you mean running?", "drover list"},
      {{"list", "--state", ""}, "--state: ", "drover list"},
      {{"list", "--limit", "0"}, "--limit: ", "drover list"},
      {{"list", "--color", "pink"}, "--color: ", "drover list"},
      {{"wait", kId, "--timeout", "soon"}, "--timeout: ", "drover wait"},
      {{"events", "--after", "-1"}, "--after: ", "drover events"},
      {{"work"}, "--type or --queue", "drover work"},
      {{"work", "--type", "a", "--lease", "5s", "--heartbeat", "4s"}, "--heartbeat: ", "drover work"},
      {{"work", "--type", "a", "--lease", "50ms"}, "--lease: a lease must be between", "drover work"},
      {{"work", "--type", "a", "--concurrency", "1001"}, "--concurrency: expected", "drover work"},
      {{"work", "--type", "a", "b c"}, "--type: ", "drover work"},
      {{"progress", "101"}, "PERCENT: ", "drover progress"},
      {{"completion", "tcsh"}, "bash, zsh, fish", "drover completion"},
      {{"completion"}, "name a shell: bash, zsh or fish", "drover completion"},
      {{"list", "--", "x"}, "only drover work takes a command after --", "drover list"},
  };
  for (const auto& row : rows) {
    const UsageError error = refused(row.arguments);
    EXPECT_TRUE(error.message.contains(row.says)) << error.message << "\n  does not say: " << row.says;
    EXPECT_EQ(error.command, row.command) << error.message;
  }
}

}  // namespace
}  // namespace drover::cli
