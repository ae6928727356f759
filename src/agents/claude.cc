// Claude Code. Its failures say "subtype": "success" too, it repeats a message's usage for each part of it, and its
// totals go on over resumed runs; a command in the background makes for a second result.
#include <re2/re2.h>

#include <csignal>

#include "agents/fields.h"
#include "agents/own_turn.h"
#include "agents/preset.h"
#include "agents/run_record.h"

namespace drover::agents {
namespace {

constexpr std::string_view kSynthetic = "<synthetic>";  // the model of messages that Claude Code writes itself

constexpr int kStopSignals[] = {SIGINT, SIGTERM};  // after SIGINT it still reports what it used
constexpr std::string_view kEnvironment[] = {"CLAUDE_CODE_MAX_RETRIES=2"};  // the queue waits better
constexpr std::string_view kLoginVariables[] = {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"};
constexpr std::string_view kLoginFiles[] = {".claude/.credentials.json"};

std::string_view permission_mode(Permissions permissions) {
  switch (permissions) {
    case Permissions::kBypass:
      return "bypassPermissions";
    case Permissions::kEdits:
      return "acceptEdits";
    case Permissions::kReadOnly:
      return "plan";
  }
  return {};
}

void add_arguments(const AgentCall& call, Arguments& arguments) {
  arguments.add("-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages");
  arguments.add("--permission-mode", permission_mode(call.permissions));
  if (call.resume_session) {
    arguments.add("--resume", *call.resume_session);
  } else {
    arguments.add_if_set("--session-id", call.new_session);
  }
  arguments.add_if_set("--model", call.model);
  arguments.add_file("--append-system-prompt-file", call.system_prompt_file);
  arguments.add_file("--mcp-config", call.mcp_config_file);
  if (call.max_turns) arguments.add("--max-turns", std::to_string(*call.max_turns));
  arguments.add_all(call.args);
}

TokenCounts tokens_of(const json::Value& usage) {
  return {.input = count_of(usage, "input_tokens"),
          .cached_input = count_of(usage, "cache_read_input_tokens"),
          .cache_write = count_of(usage, "cache_creation_input_tokens"),
          .output = count_of(usage, "output_tokens"),
          .reasoning = count_of(child_of(usage, "output_tokens_details"), "thinking_tokens")};
}

std::vector<Spent> spent_by_model(const json::Value& models) {
  std::vector<Spent> spent;
  for (const auto& [name, used] : members_of(models)) {
    spent.push_back({.model = name,
                     .tokens = {.input = count_of(used, "inputTokens"),
                                .cached_input = count_of(used, "cacheReadInputTokens"),
                                .cache_write = count_of(used, "cacheCreationInputTokens"),
                                .output = count_of(used, "outputTokens"),
                                .reasoning = count_of(used, "thinkingTokens")},
                     .dollars = number_of(used, "costUSD")});
  }
  return spent;
}

void read_system(const json::Value& line, RunRecord& run) {
  const std::string_view subtype = text_of(line, "subtype");
  if (subtype == "api_retry") {
    Trouble why{.text = std::string(text_of(line, "error"))};
    read_members(line, run.clock(), why);
    run.retrying(std::move(why), int_of(line, "retry_delay_ms").transform([](auto ms) { return Millis(ms); }));
  } else if (subtype == "background_tasks_changed") {
    run.background_tasks(array_of(line, "tasks").size());
  }
}

// An error that Claude Code puts into the mouth of the model.
void read_synthetic(const json::Value& line, const std::string& text, RunRecord& run) {
  Trouble what{.text = text};
  read_members(line, run.clock(), what);
  run.trouble(std::move(what));
}

void read_assistant(const json::Value& line, RunRecord& run) {
  const json::Value& message = child_of(line, "message");
  const std::string_view id = text_of(message, "id");
  if (text_of(message, "model") == kSynthetic) {
    read_synthetic(line, content_text(child_of(message, "content")), run);
    return;
  }
  run.request(id, {.model = std::string(text_of(message, "model")), .tokens = tokens_of(child_of(message, "usage"))});
  for (const json::Value& part : array_of(message, "content")) {
    const std::string_view type = text_of(part, "type");
    if (type == "text") {
      run.say(id, text_of(part, "text"));
    } else if (type == "thinking") {
      run.reason(text_of(part, "thinking"));
    } else if (type == "tool_use" && text_of(part, "name") == "AskUserQuestion") {
      run.ask(text_of(part, "id"), text_of(part, "name"), child_of(part, "input"));
    } else if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
      run.call_tool(text_of(part, "id"), text_of(part, "name"), child_of(part, "input"));
    }
  }
}

void read_user(const json::Value& line, RunRecord& run) {
  for (const json::Value& part : array_of(child_of(line, "message"), "content")) {
    if (text_of(part, "type") != "tool_result") continue;
    run.tool_answered(text_of(part, "tool_use_id"), content_text(child_of(part, "content")), is_true(part, "is_error"));
  }
}

// Only here is the true count of a message's output tokens before the result.
void read_stream_event(const json::Value& line, RunRecord& run) {
  const json::Value& event = child_of(line, "event");
  const json::Value& message = child_of(event, "message");
  if (text_of(event, "type") == "message_start") {
    run.request(text_of(message, "id"),
                {.model = std::string(text_of(message, "model")), .tokens = tokens_of(child_of(message, "usage"))});
  } else if (text_of(event, "type") == "message_delta" && !text_of(line, "api_message_id").empty()) {
    run.request(text_of(line, "api_message_id"), {.tokens = tokens_of(child_of(event, "usage"))});
  }
}

void read_rate_limit(const json::Value& line, RunRecord& run) {
  const json::Value& info = child_of(line, "rate_limit_info");
  if (text_of(info, "status") != "rejected") return;
  if (const auto reset = epoch_time(int_of(info, "resetsAt").value_or(0))) run.limit_until(*reset);
}

void read_usage(const json::Value& result, RunRecord& run) {
  const json::Value& this_time = child_of(result, "model_usage_since_last_result");
  const json::Value& in_session = child_of(result, "modelUsage");
  const auto dollars = number_of(result, "total_cost_usd");
  if (this_time.as_object() != nullptr) {
    const std::vector<Spent> spent = spent_by_model(this_time);
    run.settle_requests(spent, spent.empty() && dollars ? std::optional(0.0) : std::nullopt);
    run.keep_session_total(spent_by_model(in_session), dollars);
  } else if (!members_of(in_session).empty()) {
    run.session_total(spent_by_model(in_session), dollars);
  } else if (child_of(result, "usage").as_object() != nullptr) {
    run.settle_requests({{.tokens = tokens_of(child_of(result, "usage")), .dollars = dollars}}, std::nullopt);
  }
}

std::string joined_errors(const json::Value& result) {
  std::string text;
  for (const json::Value& error : array_of(result, "errors")) {
    if (!text.empty()) text += "; ";
    text += as_text(error);
  }
  return text;
}

// The words of Claude Code itself: those of the model may be in `result` where no request failed.
std::string failure_text(const json::Value& result) {
  const bool is_from_api = text_of(result, "subtype") == "success" || int_of(result, "api_error_status");
  if (is_from_api && !text_of(result, "result").empty()) return std::string(text_of(result, "result"));
  const std::string errors = joined_errors(result);
  return errors.empty() ? "Claude Code ended with " + std::string(text_of(result, "subtype")) : errors;
}

// Claude Code once gave limits as results of runs that went well.
bool is_limit(std::string_view text, const RunRecord& run) {
  static const re2::RE2 kOldLimit(R"(Claude (?:AI|Code) usage limit reached\|\d+)");
  return run.is_trouble(text) || re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kOldLimit);
}

void read_result(const json::Value& line, RunRecord& run) {
  for (const json::Value& denial : array_of(line, "permission_denials")) run.deny_tool(text_of(denial, "tool_name"));
  read_usage(line, run);
  const std::string_view text = text_of(line, "result");
  const bool went_well = text_of(line, "subtype") == "success" && !is_true(line, "is_error") &&
                         int_of(line, "api_error_status").value_or(0) < 400 && !is_limit(text, run);
  if (went_well) {
    const json::Value& structured = child_of(line, "structured_output");
    run.succeed(structured.is_null() ? json::quote(text) : json::dump(structured));
    return;
  }
  Trouble why{.text = failure_text(line)};
  read_members(line, run.clock(), why);
  run.fail(std::move(why));
}

void read_line(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "type");
  const bool names_session = type == "result" || text_of(line, "subtype") == "init";
  if (names_session || !run.session_id()) run.session(text_of(line, "session_id"));
  if (type == "system") {
    read_system(line, run);
  } else if (type == "assistant") {
    read_assistant(line, run);
  } else if (type == "user") {
    read_user(line, run);
  } else if (type == "stream_event") {
    read_stream_event(line, run);
  } else if (type == "rate_limit_event") {
    read_rate_limit(line, run);
  } else if (type == "result") {
    read_result(line, run);
  } else {
    run.raw(json::dump(line));
  }
}

// Its session file: each part of a message is a line. Messages of sub-agents are beside the conversation.
void read_own_line(const json::Value& line, OwnTurn& turn) {
  const std::string_view type = text_of(line, "type");
  if ((type != "user" && type != "assistant") || is_true(line, "isSidechain")) return;
  turn.is_done = false;
  const json::Value& message = child_of(line, "message");
  const std::string_view model = text_of(message, "model");
  if (type == "user" || model == kSynthetic || is_true(line, "isApiErrorMessage")) return;
  turn.requests[std::string(text_of(message, "id"))] = {.model = std::string(model),
                                                        .tokens = tokens_of(child_of(message, "usage"))};
  if (text_of(message, "stop_reason") != "end_turn") return;
  const std::string answer = content_text(child_of(message, "content"));
  if (answer.empty()) return;
  turn.answer = answer;
  turn.is_done = true;
}

}  // namespace

Preset claude_preset() {
  return {.name = "claude",
          .program = "claude",
          .provider = "anthropic",
          .takes_session_id = true,
          .resumes_anywhere = true,
          .takes_system_prompt_file = true,
          .takes_mcp_config_file = true,
          .stop_signals = kStopSignals,
          .environment = kEnvironment,
          .login_variables = kLoginVariables,
          .login_files = kLoginFiles,
          .lost_session = "(?i)no conversation found|session .* not found",
          .exits = {},
          .add_arguments = add_arguments,
          .read_line = read_line,
          .own_file = {"CLAUDE_CONFIG_DIR", ".claude", "projects", 1, read_own_line}};
}

}  // namespace drover::agents
