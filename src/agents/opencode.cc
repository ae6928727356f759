// opencode. There is no last event: a step that ends with "stop" was the last one unless another begins. It does not
// say which model it used, and hangs when a session is resumed from another folder.
#include <csignal>

#include "agents/fields.h"
#include "agents/preset.h"
#include "agents/run_record.h"

namespace drover::agents {
namespace {

constexpr int kStopSignals[] = {SIGTERM};  // it ignores SIGINT
constexpr std::string_view kLoginVariables[] = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
                                                "OPENROUTER_API_KEY"};
constexpr std::string_view kLoginFiles[] = {".local/share/opencode/auth.json"};

void add_arguments(const AgentCall& call, Arguments& arguments) {
  arguments.add("run", "--format", "json");
  if (call.permissions == Permissions::kBypass) arguments.add("--auto");
  arguments.add("--dir", call.folder);
  if (!call.title.empty()) arguments.add("--title", call.title);  // else it asks a model for one, and does not say so
  arguments.add_if_set("-m", call.model);
  arguments.add_if_set("-s", call.resume_session);
  arguments.add_all(call.args);
}

TokenCounts tokens_of(const json::Value& tokens) {
  const json::Value& cache = child_of(tokens, "cache");
  TokenCounts counts{.input = count_of(tokens, "input"),
                     .cached_input = count_of(cache, "read"),
                     .cache_write = count_of(cache, "write"),
                     .output = count_of(tokens, "output"),
                     .reasoning = count_of(tokens, "reasoning")};
  // Beside the output, unless the total says that it is in there.
  const std::int64_t without = counts.input + counts.cached_input + counts.cache_write + counts.output;
  if (count_of(tokens, "total") != without) counts.output += counts.reasoning;
  return counts;
}

void read_step_finish(const json::Value& part, RunRecord& run) {
  run.request(text_of(part, "id"), {.tokens = tokens_of(child_of(part, "tokens")), .dollars = number_of(part, "cost")});
  const std::string_view reason = text_of(part, "reason");
  if (reason == "stop") {
    run.succeed_with_last_answer();
  } else if (reason != "tool-calls" && reason != "tool_calls") {
    run.fail({.text = "the model stopped early: " + std::string(reason), .known = ErrorClass::kAgentError});
  }
}

void read_tool_use(const json::Value& part, RunRecord& run) {
  const json::Value& state = child_of(part, "state");
  const std::string_view id = text_of(part, "callID");
  const bool failed = text_of(state, "status") == "error";
  run.call_tool(id, text_of(part, "tool"), child_of(state, "input"));
  run.tool_answered(id, as_text(child_of(state, failed ? "error" : "output")), failed);
}

void read_error(const json::Value& error, RunRecord& run) {
  const json::Value& data = child_of(error, "data");
  const json::Value& headers = child_of(data, "responseHeaders");
  std::string_view text = text_of(data, "message");
  if (text.empty()) text = text_of(error, "message");
  Trouble why = trouble_of(text.empty() ? as_text(error) : text);
  read_members(error, run.clock(), why);
  read_members(data, run.clock(), why);
  if (const auto body = json::parse(text_of(data, "responseBody"))) {
    read_members(child_of(*body, "error"), run.clock(), why);
  }
  if (const std::string_view ms = text_of(headers, "retry-after-ms"); !ms.empty()) {
    const SaidWait said = wait_in_header(ms, run.clock());
    if (said.retry_after) why.wait.retry_after = *said.retry_after / 1'000;
  } else if (const std::string_view after = text_of(headers, "retry-after"); !after.empty()) {
    why.wait = wait_in_header(after, run.clock(), text_of(headers, "date"));
  }
  run.fail(std::move(why));
}

void read_line(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "type");
  const json::Value& part = child_of(line, "part");
  run.session(text_of(line, "sessionID"));
  if (type == "step_start") {
    run.reopen();
  } else if (type == "text") {
    run.say(text_of(part, "messageID"), text_of(part, "text"));
  } else if (type == "reasoning") {
    run.reason(text_of(part, "text"));
  } else if (type == "tool_use") {
    read_tool_use(part, run);
  } else if (type == "step_finish") {
    read_step_finish(part, run);
  } else if (type == "error") {
    read_error(child_of(line, "error"), run);
  } else {
    run.raw(json::dump(line));
  }
}

}  // namespace

Preset opencode_preset() {
  return {.name = "opencode",
          .program = "opencode",
          .provider = "",
          .resumes_anywhere = true,
          .stop_signals = kStopSignals,
          .environment = {},
          .login_variables = kLoginVariables,
          .login_files = kLoginFiles,
          .lost_session = "(?i)session not found",
          .exits = {},
          .add_arguments = add_arguments,
          .read_line = read_line};
}

}  // namespace drover::agents
