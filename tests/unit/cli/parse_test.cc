#include "cli/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

template <class Options>
Options parsed(const Args& arguments) {
  return std::get<Options>(parsed(arguments).command);
}

UsageError refused(const Args& arguments) {
  const auto invocation = parse_command_line(arguments);
  if (invocation) throw std::runtime_error("was accepted");
  return invocation.error();
}

TEST(ParseTest, EnqueueTakesEveryFlag) {
  const auto options = parsed<EnqueueOptions>({"enqueue",
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
  TaskSpec spec;
  spec.type = "review";
  spec.prompt = "- look";
  spec.queue = "eng";
  spec.owner = "ada";
  spec.priority = 2;
  spec.delay = Millis{90'000};
  spec.depends_on = {id(), id(kOtherId)};
  spec.request_id = "r-1";
  spec.tags = {"x", "y"};
  spec.max_attempts = 5;
  spec.retry = must(parse_retry_policy("list:1s,5s"));
  spec.timeout = Millis{300'000};
  spec.idle_timeout = Millis{30'000};
  spec.deadline = Millis{7'200'000};
  spec.on_parent_failure = OnParentFailure::kRun;
  spec.at_most_once = true;
  const EnqueueOptions expected{
      .task = {spec, R"({"a":1})", "null"}, .batch = {}, .wait = true, .format = Format::kJson};
  EXPECT_EQ(options, expected);
}

TEST(ParseTest, ValuesKeepTheirText) {
  for (const std::string value : {R"([1,2])", R"({"a":[]})", "-5", "-", "@file", "--queue", "", "a=b", R"("x y")"}) {
    EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "t", "--payload", value}).task.payload, value);
    EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "t", "--payload=" + value, "--tag", "x"}).task.payload, value);
  }
  // A repeated flag takes one value, and leaves the type alone.
  EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "--tag", "x", "t"}).task.spec.type, "t");
  // A type may be called like a verb.
  EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "list"}).task.spec.type, "list");
}

TEST(ParseTest, EnqueueTakesABatchInstead) {
  EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "--batch", "-"}).batch, "-");
  EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "--batch", "tasks.ndjson", "--wait"}).batch, "tasks.ndjson");
}

TEST(ParseTest, EnqueueAtATime) {
  EXPECT_EQ(parsed<EnqueueOptions>({"enqueue", "t", "--at", "2026-11-15T19:50:37Z"}).task.spec.run_at,
            must(parse_time("2026-11-15T19:50:37Z")));
}

TEST(ParseTest, Run) {
  const auto options = parsed<RunOptions>({"run", "t", "--payload", "1", "--json"});
  EXPECT_EQ(options.task.spec.type, "t");
  EXPECT_EQ(options.task.payload, "1");
  EXPECT_EQ(options.format, Format::kJson);
}

TEST(ParseTest, List) {
  const auto options =
      parsed<ListOptions>({"list", "--type", "t", "--queue", "q", "--owner", "o", "--state", "running,failed", "--tag",
                           "x", "--parent", kId, "--limit", "7", "--cursor", "c", "--json"});
  EXPECT_EQ(options.filter.type, "t");
  EXPECT_EQ(options.filter.queue, "q");
  EXPECT_EQ(options.filter.owner, "o");
  EXPECT_EQ(options.filter.states, (std::vector{TaskState::kRunning, TaskState::kFailed}));
  EXPECT_EQ(options.filter.tag, "x");
  EXPECT_EQ(options.filter.parent_id, id());
  EXPECT_EQ(options.limit, 7);
  EXPECT_EQ(options.cursor, "c");
  EXPECT_EQ(options.format, Format::kJson);
  EXPECT_EQ(parsed<ListOptions>({"list", "-q"}).format, Format::kName);
  EXPECT_EQ(parsed<ListOptions>({"list", "-o", "wide"}).format, Format::kWide);
  EXPECT_EQ(parsed<ListOptions>({"list", "--output=ndjson"}).format, Format::kNdjson);
  EXPECT_EQ(parsed<ListOptions>({"list"}).limit, kListLimitDefault);
}

TEST(ParseTest, VerbsAboutOneTask) {
  EXPECT_EQ(parsed<ShowOptions>({"show", kId, "--runs"}), (ShowOptions{id(), true, Format::kAuto}));
  EXPECT_EQ(parsed<WaitOptions>({"wait", kId, "--timeout", "500ms", "--json"}),
            (WaitOptions{id(), {.timeout = Millis{500}}, Format::kJson}));
  EXPECT_EQ(parsed<WaitOptions>({"wait", kId, "--timeout", "0s"}),
            (WaitOptions{id(), {.timeout = Millis{0}}, Format::kAuto}));
  EXPECT_EQ(parsed<LogsOptions>({"logs", "-f", kId, "--run", "2"}), (LogsOptions{id(), 2, true, Format::kAuto}));
  EXPECT_EQ(parsed<CancelOptions>({"cancel", kId, "--reason", "wrong branch"}),
            (CancelOptions{id(), "wrong branch", false, Format::kAuto}));
  EXPECT_EQ(parsed<CancelOptions>({"cancel", kId, "--dry-run"}), (CancelOptions{id(), "", true, Format::kAuto}));
  EXPECT_EQ(parsed<RetryOptions>({"retry", kId}), (RetryOptions{id(), "", Format::kAuto}));
}

TEST(ParseTest, Edit) {
  const auto edit = parsed<EditOptions>(
      {"edit", kId, "--priority", "high", "--delay", "30s", "--payload", "[1]", "--tag", "a", "--tag", "b", "--json"});
  EXPECT_EQ(edit.id, id());
  EXPECT_EQ(edit.order.priority, 2);
  EXPECT_EQ(edit.order.delay, Millis{30'000});
  EXPECT_EQ(edit.payload, "[1]");
  EXPECT_EQ(edit.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(edit.format, Format::kJson);
  EXPECT_TRUE(parsed<EditOptions>({"edit", kId, "--at", "2030-01-01T00:00:00Z"}).order.run_at);
  EXPECT_NE(refused({"edit", kId}).message.find("say what is to change"), std::string::npos);
  EXPECT_NE(refused({"edit", kId, "--delay", "1s", "--at", "2030-01-01T00:00:00Z"}).message.find("give one of them"),
            std::string::npos);
}

TEST(ParseTest, Types) {
  EXPECT_EQ(parsed<TypeListOptions>({"type", "list", "-o", "name"}), (TypeListOptions{Format::kName}));
  EXPECT_EQ(parsed<TypeShowOptions>({"type", "show", "review", "--json"}), (TypeShowOptions{"review", Format::kJson}));
}

TEST(ParseTest, Events) {
  EXPECT_EQ(parsed<EventsOptions>({"events", "-f", "--after", "0", "--limit", "3", "--json"}),
            (EventsOptions{0, 3, true, Format::kJson}));
  EXPECT_EQ(parsed<EventsOptions>({"events"}), EventsOptions{});
}

TEST(ParseTest, Work) {
  WorkOptions expected;
  expected.types = {"a", "b"};
  expected.concurrency = 4;
  expected.until_empty = true;
  expected.lease = Millis{3'000};
  expected.heartbeat = Millis{500};
  expected.argv = {"sh", "-c", "echo --json"};
  EXPECT_EQ(parsed<WorkOptions>({"work", "--type", "a", "b", "--concurrency", "4", "--until-empty", "--lease", "3s",
                                 "--", "sh", "-c", "echo --json"}),
            expected);
  EXPECT_EQ(parsed<WorkOptions>({"work", "--type", "a", "--type", "b", "--concurrency", "4", "--until-empty", "--lease",
                                 "3s", "--heartbeat", "500ms", "--", "sh", "-c", "echo --json"}),
            expected);
  EXPECT_EQ(parsed<WorkOptions>({"work", "--queue", "q"}).heartbeat, Millis{5'000});
}

TEST(ParseTest, AHostIsANameWithoutAPort) {
  EXPECT_EQ(parsed<ServeOptions>({"serve", "--host", "Queue.Example.com", "--host", "[::1]"}).hosts,
            (Args{"queue.example.com", "[::1]"}));
  for (const char* bad : {"bad host", "", "a:7711", "http://a", "a/b", "[::1"}) {
    EXPECT_TRUE(refused({"serve", "--host", bad}).message.contains("--host")) << bad;
  }
}

TEST(ParseTest, OtherVerbs) {
  EXPECT_EQ(parsed<UpOptions>({"up"}), UpOptions{});
  EXPECT_EQ(parsed<UpOptions>({"up", "--listen", "127.0.0.1:8080"}),
            (UpOptions{.serve = {.listen = {"127.0.0.1:8080"}}}));
  EXPECT_EQ(parsed<ProgressOptions>({"progress", "40", "half way"}), (ProgressOptions{40, "half way"}));
  EXPECT_EQ(parsed<FsckOptions>({"fsck", "--repair"}), (FsckOptions{FsckMode::kRepair, Format::kAuto}));
  EXPECT_EQ(parsed<ConfigApplyOptions>({"config", "apply", "f.yaml"}),
            (ConfigApplyOptions{"f.yaml", false, Format::kAuto}));
  EXPECT_TRUE(parsed<ConfigApplyOptions>({"config", "apply", "-", "--dry-run"}).dry_run);
  EXPECT_EQ(parsed<ConfigShowOptions>({"config", "show", "--json"}), (ConfigShowOptions{Format::kJson}));
  EXPECT_EQ(parsed<TrustOptions>({"trust"}), (TrustOptions{"drover.yaml", Format::kAuto}));
  EXPECT_EQ(parsed<TrustOptions>({"trust", "x.yaml"}), (TrustOptions{"x.yaml", Format::kAuto}));
  EXPECT_EQ(parsed<WorkerListOptions>({"worker", "list"}), WorkerListOptions{});
  EXPECT_EQ(parsed<CompletionOptions>({"completion", "fish"}), (CompletionOptions{Shell::kFish}));
  EXPECT_EQ(parsed<VersionOptions>({"--version"}), VersionOptions{});
}

TEST(ParseTest, Help) {
  EXPECT_EQ(parsed<HelpOptions>({}), HelpOptions{});
  EXPECT_EQ(parsed<HelpOptions>({"--help"}), HelpOptions{});
  EXPECT_EQ(parsed<HelpOptions>({"help"}), HelpOptions{});
  EXPECT_EQ(parsed<HelpOptions>({"help", "config", "apply"}), (HelpOptions{{"config", "apply"}}));
  EXPECT_EQ(parsed<HelpOptions>({"config", "apply", "-h"}), (HelpOptions{{"config", "apply"}}));
  // Help is given although what is required is missing.
  EXPECT_EQ(parsed<HelpOptions>({"show", "--help"}), (HelpOptions{{"show"}}));
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
  EXPECT_EQ(parsed<DlqVerdictOptions>({"dlq", "delete", "--all", "--reason", "--yes=false"}).reason, "--yes=false");
  EXPECT_EQ(parsed<WorkOptions>({"work", "--type", "t", "--", "agent", "--json=false"}).argv,
            (Args{"agent", "--json=false"}));
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
      {{"config"}, "say which command: apply, show", "drover config"},
      {{"show"}, "ID is missing", "drover show"},
      {{"show", kId, "more"}, R"(unexpected argument "more")", "drover show"},
      {{"show", "nonsense"}, R"(ID: "nonsense" is not a task id)", "drover show"},
      {{"enqueue"}, "TYPE is missing; or give --batch FILE", "drover enqueue"},
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
      {{"list", "--", "x"}, "only work", "drover list"},
  };
  for (const auto& row : rows) {
    const UsageError error = refused(row.arguments);
    EXPECT_TRUE(error.message.contains(row.says)) << error.message << "\n  does not say: " << row.says;
    EXPECT_EQ(error.command, row.command) << error.message;
  }
}

}  // namespace
}  // namespace drover::cli
