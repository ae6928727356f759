// drover mcp: the queue for an agent, over MCP on standard input and output.
#include <algorithm>
#include <atomic>
#include <thread>

#include "cli/mcp_allowance.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "mcp/door_tools.h"
#include "mcp/stdio.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct McpOptions {
  McpAllowances allow;
};

void define(Verb& verb, McpOptions& options) {
  define_mcp_allowances(verb, "--", &options.allow);
}

int serve(mcp::Toolset& tools, TaskQueue& queue, Context& context) {
  const mcp::Service service(DROVER_VERSION);
  const mcp::StdioOptions stdio{
      .changes = [&queue] { return queue.changes(); },
      .wait_for_change = [&queue](std::uint64_t seen, Millis timeout) { queue.wait_for_change(seen, timeout); }};
  const Status served = mcp::serve_stdio(service, tools, stdio);
  return served ? kExitOk : context.fail(served.error());
}

constexpr Millis kDoorTimeout{30'000};
constexpr Millis kLookEvery{500};

// A door tells nobody of changes: who waits looks from time to time, and holds nothing there.
int serve_at_door(const std::string& url, Context& context) {
  mcp::DoorTools tools([&url](const std::string& method, const std::string& target, const std::string& body) {
    return door_request(url, method, target, body, kDoorTimeout);
  });
  std::atomic<std::uint64_t> looks{0};
  const mcp::Service service(DROVER_VERSION);
  const mcp::StdioOptions stdio{
      .changes = [&looks] { return ++looks; },
      .wait_for_change = [](std::uint64_t /*seen*/,
                            Millis timeout) { std::this_thread::sleep_for(std::min(timeout, kLookEvery)); }};
  const Status served = mcp::serve_stdio(service, tools, stdio);
  return served ? kExitOk : context.fail(served.error());
}

// An agent's configuration is read in many folders: which store it means must not depend on where it runs. Inside a
// task there is no store at all but the door.
int run(const McpOptions& options, Context& context) {
  configure_log(context.common.log_level.value_or(LogLevel::kWarn), LogFormat::kAuto);
  if (!context.common.store) {
    if (const auto url = context.door()) return serve_at_door(*url, context);
    return context.fail(
        {ErrorCode::kInvalidArgument, "name the store that the agent is to use: drover mcp --store URL", {}});
  }
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const UpkeepThread upkeep(**opened);  // time goes on although no worker may be there
  mcp::QueueTools tools((*opened)->queue(), allowed_of(options.allow), {});
  return serve(tools, (*opened)->queue(), context);
}

}  // namespace

void add_mcp(Verbs& verbs) {
  verbs.add<McpOptions>(
      {.name = "mcp",
       .summary = "Give an agent the queue as tools, over MCP on standard input and output",
       .footer =
           R"(An agent starts this command itself; see docs/guide/mcp.md for the lines that Claude Code, Codex, Gemini CLI and opencode
need. The store must be named with --store. For a server, put the token in DROVER_TOKEN or use --token-file. Agents may enqueue
tasks, look at them and wait for them; --allow lets them cancel and retry tasks, too.

Inside a task, without --store, the tools are those of the task itself, through the socket in DROVER_URL: look at it, report progress, save a
checkpoint, spawn tasks and wait for these.

Examples:
  drover mcp --store sqlite:/home/me/.local/share/drover/drover.db
  drover mcp --store http://127.0.0.1:7711 --allow cancel
  claude mcp add drover -- drover mcp --store http://127.0.0.1:7711)"},
      define, run);
}

}  // namespace drover::cli
