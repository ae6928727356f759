// Codex. Its usage goes on over resumed runs, warnings come as items of type error, and "Reconnecting..." is one more
// error that is none.
#include <csignal>

#include "agents/fields.h"
#include "agents/own_turn.h"
#include "agents/preset.h"
#include "agents/run_record.h"

namespace drover::agents {
namespace {

constexpr int kStopSignals[] = {SIGTERM};
constexpr std::string_view kLoginVariables[] = {"OPENAI_API_KEY", "CODEX_API_KEY"};
constexpr std::string_view kLoginFiles[] = {".codex/auth.json"};

std::string_view sandbox(Permissions permissions) {
  switch (permissions) {
    case Permissions::kBypass:
      return "danger-full-access";
    case Permissions::kEdits:
      return "workspace-write";
    case Permissions::kReadOnly:
      return "read-only";
  }
  return {};
}

void add_arguments(const AgentCall& call, Arguments& arguments) {
  arguments.add("exec", "--json", "--skip-git-repo-check", "-C", call.folder, "-s", sandbox(call.permissions));
  arguments.add_if_set("-m", call.model);
  if (!call.system_prompt_file.empty()) {
    arguments.add("-c", "model_instructions_file=" + json::quote(call.system_prompt_file));
  }
  arguments.add_all(call.args);
  if (call.resume_session) arguments.add("resume", *call.resume_session);
  arguments.add("-");
}

TokenCounts tokens_of(const json::Value& usage) {
  const std::int64_t cached = count_of(usage, "cached_input_tokens");
  const std::int64_t written = count_of(usage, "cache_write_input_tokens");
  return {.input = std::max<std::int64_t>(count_of(usage, "input_tokens") - cached - written, 0),
          .cached_input = cached,
          .cache_write = written,
          .output = count_of(usage, "output_tokens"),
          .reasoning = count_of(usage, "reasoning_output_tokens")};
}

Trouble trouble_in(const json::Value& error, const RunRecord& run) {
  Trouble what = trouble_of(error.as_string() != nullptr ? as_text(error) : text_of(error, "message"));
  read_members(error, run.clock(), what);
  return what;
}

std::string_view tool_of(const json::Value& item) {
  const std::string_view type = text_of(item, "type");
  if (type == "mcp_tool_call" || type == "collab_tool_call") return text_of(item, "tool");
  if (type == "command_execution") return "shell";
  if (type == "file_change" || type == "web_search") return type;
  return {};
}

const json::Value& input_of(const json::Value& item) {
  for (const std::string_view key : {"command", "arguments", "changes", "query", "prompt"}) {
    if (const json::Value& input = child_of(item, key); !input.is_null()) return input;
  }
  return child_of(item, {});
}

std::string output_of(const json::Value& item) {
  if (const json::Value& result = child_of(item, "result"); !result.is_null()) {
    const std::string text = content_text(child_of(result, "content"));
    return text.empty() ? as_text(result) : text;
  }
  const std::string_view error = text_of(child_of(item, "error"), "message");
  return std::string(error.empty() ? text_of(item, "aggregated_output") : error);
}

void read_item(const json::Value& item, bool is_done, RunRecord& run) {
  const std::string_view type = text_of(item, "type");
  const std::string_view id = text_of(item, "id");
  const std::string_view tool = tool_of(item);
  if (!tool.empty()) {
    run.call_tool(id, tool, input_of(item));
    if (!is_done) return;
    const std::string_view status = text_of(item, "status");
    if (status == "declined") run.deny_tool(tool);
    run.tool_answered(id, output_of(item), status == "failed" || status == "declined");
  } else if (!is_done || type == "todo_list") {
    return;
  } else if (type == "agent_message") {
    run.say(id, text_of(item, "text"));
  } else if (type == "reasoning") {
    run.reason(text_of(item, "text"));
  } else if (type == "error") {
    run.warn(text_of(item, "message"));
  } else {
    run.raw(json::dump(item));
  }
}

void read_error(const json::Value& line, RunRecord& run) {
  Trouble what = trouble_in(line, run);
  if (what.text.starts_with("Reconnecting")) {
    run.retrying(std::move(what), std::nullopt);
  } else {
    run.trouble(std::move(what));
  }
}

void read_line(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "type");
  if (type == "thread.started") {
    run.session(text_of(line, "thread_id"));
  } else if (type == "item.started" || type == "item.updated" || type == "item.completed") {
    read_item(child_of(line, "item"), type == "item.completed", run);
  } else if (type == "error") {
    read_error(line, run);
  } else if (type == "turn.completed") {
    if (const json::Value& usage = child_of(line, "usage"); usage.as_object() != nullptr) {
      run.session_total({{.tokens = tokens_of(usage)}}, std::nullopt);
    }
    run.succeed_with_last_answer();
  } else if (type == "turn.failed") {
    run.fail(trouble_in(child_of(line, "error"), run));
  } else if (type != "turn.started") {
    run.raw(json::dump(line));
  }
}

// Its rollout file. Nothing else follows the end of a turn but the next one.
void read_own_line(const json::Value& line, OwnTurn& turn) {
  const std::string_view type = text_of(line, "type");
  const json::Value& payload = child_of(line, "payload");
  const std::string_view event = type == "event_msg" ? text_of(payload, "type") : std::string_view();
  if (type == "token_usage_record") {
    turn.session_total = tokens_of(child_of(payload, "thread_token_usage"));
  } else if (event == "token_count") {
    const json::Value& total = child_of(child_of(payload, "info"), "total_token_usage");
    if (total.as_object() != nullptr) turn.session_total = tokens_of(total);
  } else if (event == "agent_message") {
    turn.answer = text_of(payload, "message");
    turn.is_done = false;
  } else if (event == "task_complete" || event == "turn_complete") {
    if (const std::string_view last = text_of(payload, "last_agent_message"); !last.empty()) turn.answer = last;
    turn.is_done = true;
  } else if (!event.empty() || type == "response_item") {
    turn.is_done = false;
  }
}

}  // namespace

Preset codex_preset() {
  return {.name = "codex",
          .program = "codex",
          .provider = "openai",
          .resumes_anywhere = true,
          .tells_usage_late = true,
          .takes_system_prompt_file = true,
          .stop_signals = kStopSignals,
          .environment = {},
          .login_variables = kLoginVariables,
          .login_files = kLoginFiles,
          .lost_session = "(?i)no rollout found|no thread with id|thread not found|session .* not found",
          .exits = {},
          .add_arguments = add_arguments,
          .read_line = read_line,
          .own_file = {"CODEX_HOME", ".codex", "sessions", 3, read_own_line}};
}

}  // namespace drover::agents
