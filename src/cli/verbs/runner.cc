// drover runner: what presets make of agents.
#include <fmt/ranges.h>

#include "agents/agent_reader.h"
#include "agents/preset.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/time_zone.h"
#include "cli/display_text.h"
#include "cli/files.h"
#include "cli/installed_agent.h"
#include "cli/listing.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "cli/verbs/runner.h"

namespace drover::cli {
namespace {

struct RunnerParseOptions {
  const agents::Preset* preset = nullptr;
  std::string file;         // its stdout; "-" is our stdin
  std::string stderr_file;  // empty: it said nothing there
  int exit_code = 0;
  Format format = Format::kAuto;
};

void define(Verb& verb, RunnerParseOptions& options) {
  verb.value("PRESET", "", &options.preset, agents::preset_named, "claude, codex, gemini, opencode or letta")
      .required();
  verb.value("FILE", "", &options.file, read_text, "what the agent wrote to stdout; - for stdin").required();
  verb.value("--stderr", "FILE", &options.stderr_file, read_text, "what it wrote to stderr");
  verb.value("--exit-code", "N", &options.exit_code, integer_between({0, 255}), "how it ended; default 0");
  verb.json(&options.format,
            R"(print {"outcome", "class", "message", "retry_after_ms", "reset_at", "result", "session_id", "usage"})");
}

struct RunnerListOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, RunnerListOptions& options) {
  verb.formats(&options.format, "print a JSON array of presets");
}

// An agent, and the command line of a run without what differs from task to task.
struct ListedAgent {
  InstalledAgent installed;
  std::string call;
};

ListedAgent listed(const InstalledAgent& agent, const Context& context) {
  const auto argv = agents::call_argv(*agent.preset, {.folder = context.folder.string(), .title = "TASK"});
  return {.installed = agent, .call = argv ? fmt::format("{}", fmt::join(*argv, " ")) : to_string(argv.error())};
}

std::string to_json(const ListedAgent& agent) {
  const auto& [installed, call] = agent;
  json::Writer out;
  out.begin_object().key("preset").string(installed.preset->name).key("ready").boolean(installed.is_ready());
  out.key("program").string_or_null(installed.program).key("login").string_or_null(installed.login());
  out.key("call").string(call).key("provider").string(installed.preset->provider).end_object();
  return std::move(out).take();
}

Table agents_table(const std::vector<ListedAgent>& agents) {
  Table table({{"PRESET"}, {"PROGRAM"}, {"LOGIN"}, {"CALLED AS"}});
  for (const auto& [installed, call] : agents) {
    const std::string login = installed.login();
    table.add({Cell(std::string(installed.preset->name)),
               installed.program.empty() ? Cell("not installed", Paint::kDim) : Cell(installed.program),
               login.empty() ? Cell("not found", Paint::kYellow) : Cell(login), Cell(call)});
  }
  return table;
}

int run(const RunnerListOptions& options, Context& context) {
  std::vector<ListedAgent> found;
  for (const InstalledAgent& agent : look_at_all(context.environment)) found.push_back(listed(agent, context));
  print(Listing<ListedAgent>{.items = found,
                             .nothing = "there are no presets",
                             .name = [](const ListedAgent& agent) { return std::string(agent.installed.preset->name); },
                             .table = [&] { return agents_table(found); }},
        options.format, context);
  return kExitOk;
}

constexpr ReadLimit kOutputLimit{256U << 20, ErrorCode::kLimitExceeded};

void print_page(const agents::AgentOutcome& outcome, Output& out) {
  const auto row = [&](std::string_view name, std::string_view value) {
    out.line(fmt::format("{:<13} {}", name, one_line(value)));
  };
  row("outcome", outcome.completed ? "completed" : "failed");
  if (outcome.error_class) row("class", name_of(*outcome.error_class));
  if (!outcome.completed) row("message", outcome.message);
  if (outcome.retry_after) row("retry after", format_duration(*outcome.retry_after));
  if (outcome.reset_at) row("reset at", format_time(*outcome.reset_at));
  if (outcome.session_lost) row("session lost", "yes: a run of a task would start a fresh one");
  if (outcome.result) row("result", *outcome.result);
  row("session", outcome.session_id.value_or("-"));
  row("turns", std::to_string(outcome.usage.turns));
  row("tool calls", std::to_string(outcome.usage.tool_calls));
  row("tokens", tokens_text(outcome.usage));
  row("cost", cost_text(outcome.usage));
}

agents::WallClock clock_of(const Environment& environment) {
  const std::string* tz = environment.find("TZ");
  return {.now = system_clock().wall(), .offset = ZoneFiles(tz != nullptr ? *tz : "")};
}

int run(const RunnerParseOptions& options, Context& context) {
  const auto out = read_input(options.file, kOutputLimit);
  if (!out) return context.fail(out.error());
  const Result<std::string> err =
      options.stderr_file.empty() ? Result<std::string>() : read_input(options.stderr_file, kOutputLimit);
  if (!err) return context.fail(err.error());

  const agents::WallClock clock = clock_of(context.environment);
  agents::AgentReader reader(*options.preset, {.clock = clock});
  static_cast<void>(reader.read_stderr(*err, clock.now));
  static_cast<void>(reader.read_stdout(*out, clock.now));
  static_cast<void>(reader.finish(clock.now));
  const agents::AgentOutcome outcome = reader.conclude({.code = options.exit_code});
  if (options.format == Format::kJson) {
    context.out.line(agents::outcome_json(outcome));
  } else {
    print_page(outcome, context.out);
  }
  return kExitOk;
}

}  // namespace

std::string tokens_text(const Usage& usage) {
  const TokenCounts& tokens = usage.tokens;
  return fmt::format("{} in, {} cached, {} written to a cache, {} out ({} reasoning)", tokens.input,
                     tokens.cached_input, tokens.cache_write, tokens.output, tokens.reasoning);
}

std::string cost_text(const Usage& usage) {
  if (!usage.cost) return "not reported";
  const std::int64_t unpriced = unpriced_tokens(usage);
  return "$" + format_dollars(*usage.cost) + (unpriced > 0 ? fmt::format(", without {} tokens", unpriced) : "");
}

void add_runner(Verbs& verbs) {
  Verbs& runner =
      verbs.family({.name = "runner",
                    .summary = "See which agents are ready, try one, and see how Drover reads its output",
                    .footer =
                        R"(Presets know the command lines of agents: claude, codex, gemini, opencode and letta.

Examples:
  drover runner list
  drover runner test fix
  claude -p --output-format stream-json --verbose 'say hi' | drover runner parse claude -)"});
  runner.add<RunnerListOptions>(
      {.name = "list",
       .summary = "List the presets, and which of their agents are ready here",
       .footer =
           R"(An agent is ready when its program is in PATH and it finds a way to log in: an environment
variable, or a file in your home folder. The agent is not called, so a login may turn out to have expired.
Piped, it prints tab-separated columns: preset, program, login, how it is called.

Examples:
  drover runner list
  drover runner list --json | jq '.[] | select(.ready).preset')"},
      define, run);
  add_runner_test(runner);
  runner.add<RunnerParseOptions>(
      {.name = "parse",
       .summary = "Show how Drover reads the output of an agent",
       .footer =
           R"(Reads what a run of an agent printed and shows how the run would end: completed, or failed with a class; when to
try again; the result, the session and what was used. A clock time in a limit ("try again at 6:56 PM") means the
next such time in your time zone. It runs nothing and needs no store.

Examples:
  drover runner parse claude run.jsonl --exit-code 1
  drover runner parse codex out.jsonl --stderr err.txt --exit-code 1 --json | jq .class)"},
      define, run);
}

}  // namespace drover::cli
