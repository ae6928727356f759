// drover session: the sessions in which tasks go on with the same agent.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/session_record.h"
#include "core/usage.h"

namespace drover::cli {
namespace {

constexpr int kSessionsShown = 100;

struct SessionListOptions {
  std::optional<std::string> owner;
  int limit = kSessionsShown;
  Format format = Format::kAuto;
};

struct SessionOptions {
  SessionName name{.owner = "default"};
  std::string reason;
  Format format = Format::kAuto;
};

Result<std::string> read_session(std::string_view text) {
  TRY(check_session_name(text));
  return std::string(text);
}

void define(Verb& verb, SessionListOptions& options) {
  verb.value("--owner", "O", &options.owner, read_name, "only the sessions of this owner");
  verb.value("--limit", "N", &options.limit, integer_between({1, 1'000'000}), "at most so many (default: 100)");
  verb.formats(&options.format, "print a JSON array of sessions");
}

void define_name(Verb& verb, SessionOptions& options) {
  verb.value("SESSION", "", &options.name.name, read_session, "its name").required();
  verb.value("--owner", "O", &options.name.owner, read_name, "whose session it is (default: default)");
}

void define_show(Verb& verb, SessionOptions& options) {
  define_name(verb, options);
  verb.json(&options.format, "print the session as JSON");
}

void define_reset(Verb& verb, SessionOptions& options) {
  define_name(verb, options);
  verb.value("--reason", "R", &options.reason, read_text, "why; the event log keeps it");
  verb.json(&options.format, "print the session afterwards as JSON");
}

Paint paint_of(SessionState state) {
  switch (state) {
    case SessionState::kBusy:
      return Paint::kGreen;
    case SessionState::kWaiting:
      return Paint::kYellow;
    case SessionState::kWarm:
      return Paint::kNone;
    case SessionState::kCold:
      return Paint::kDim;
  }
  return Paint::kNone;
}

std::string agent_text(const SessionInfo& session) {
  if (!session.agent) return "";
  return fmt::format("{} on {}", session.agent->preset, session.agent->host);
}

Table session_table(std::span<const SessionInfo> sessions, Time now) {
  Table table({{"OWNER"}, {"SESSION"}, {"STATE"}, {"TASKS"}, {"RUNS"}, {"USED"}, {"RUNNING"}, {"AGENT", Fit::kRest}});
  for (const SessionInfo& session : sessions) {
    table.add(
        {session.name.owner,
         session.name.name,
         {std::string(name_of(session.state)), paint_of(session.state)},
         std::to_string(session.tasks.size()),
         std::to_string(session.runs),
         {coarse_duration(std::max(Millis{0}, now - session.last_used_at)) + " ago", format_time(session.last_used_at)},
         session.running ? session.running->to_string() : "",
         agent_text(session)});
  }
  return table;
}

Result<std::vector<SessionInfo>> list_sessions(TaskQueue& queue, const SessionListOptions& options) {
  std::vector<SessionInfo> found;
  SessionQuery query{.owner = options.owner};
  do {
    query.limit = std::min(kPageMax, options.limit - static_cast<int>(found.size()));
    auto page = TRY(queue.sessions(query));
    std::ranges::move(page.sessions, std::back_inserter(found));
    query.cursor = std::move(page.cursor);
  } while (query.cursor && std::cmp_less(found.size(), options.limit));
  return found;
}

int run(const SessionListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto sessions = list_sessions((*opened)->queue(), options);
  if (!sessions) return context.fail(sessions.error());
  print(Listing<SessionInfo>{.items = *sessions,
                             .nothing = "no sessions",
                             .name = [](const SessionInfo& one) { return one.name.owner + "::" + one.name.name; },
                             .table = [&] { return session_table(*sessions, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

std::string session_page(const SessionInfo& session) {
  std::string text;
  const auto row = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{:<14}{}\n", name, one_line(value));
  };
  row("session", session.name.name);
  row("owner", session.name.owner);
  row("state", name_of(session.state));
  row("running", session.running ? session.running->to_string() : "");
  row("tasks", std::to_string(session.tasks.size()));
  row("runs", std::to_string(session.runs));
  row("agent", agent_text(session));
  if (session.agent) {
    row("agent session", session.agent->session_id);
    const Usage& totals = session.agent->session_totals;
    row("tokens", std::to_string(token_count(totals.tokens)));
    if (totals.cost) row("cost", "$" + format_dollars(*totals.cost));
  }
  row("preflight", session.preflight_done ? "done" : "due");
  row("bootstrapped", fmt::format("{}", fmt::join(session.bootstrap_keys, " ")));
  row("created", format_time(session.created_at));
  row("last used", format_time(session.last_used_at));
  if (session.idle_at) row("idle from", format_time(*session.idle_at));
  if (session.reset_at) row("reset", format_time(*session.reset_at));
  return text;
}

int print_session(const Result<SessionInfo>& session, const SessionOptions& options, Context& context) {
  if (!session) return context.fail(session.error());
  context.out.write(options.format == Format::kJson ? to_json(*session) + "\n" : session_page(*session));
  return kExitOk;
}

int show(const SessionOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  return print_session((*opened)->queue().session(options.name), options, context);
}

int reset(const SessionOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const Verdict verdict{.by = who(), .why = options.reason};
  return print_session((*opened)->queue().reset_session(options.name, verdict), options, context);
}

}  // namespace

void add_session(Verbs& verbs) {
  Verbs& session = verbs.family(
      {.name = "session",
       .summary = "List, show and reset sessions, in which tasks go on with the same agent",
       .footer =
           R"(A task runs in a session with `drover enqueue --session NAME`. One task at a time does; the next one resumes the agent
where the last one left it, on the same host.

Examples:
  drover session list
  drover session show reviewer --owner alice
  drover session reset reviewer --owner alice --reason 'it is confused')"});
  session.add<SessionListOptions>(
      {.name = "list",
       .summary = "List the sessions of an owner, or of all",
       .footer =
           R"(A session is busy (a task runs in it), waiting (tasks wait for it), warm (the next task goes on with its agent) or cold
(the next task begins afresh). Sessions that were idle for too long are forgotten.

Piped, it prints tab-separated lines: owner; session; state; tasks that have not ended; runs; last used; the task that
runs; agent and host.

Examples:
  drover session list --owner alice --json)"},
      define, run);
  session.add<SessionOptions>({.name = "show", .summary = "Show what is known of a session", .footer = R"(Examples:
  drover session show reviewer --owner alice --json)"},
                              define_show, show);
  session.add<SessionOptions>(
      {.name = "reset",
       .summary = "Let the next task of a session begin afresh",
       .footer =
           R"(The next task gets a new agent, which is told preflight and bootstrap again. A task that runs continues, and leaves
nothing for the next one. Tasks that wait keep waiting.

Examples:
  drover session reset reviewer --owner alice --reason 'it is confused')"},
      define_reset, reset);
}

}  // namespace drover::cli
