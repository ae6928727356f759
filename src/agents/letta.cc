// Letta Code. The session is a conversation of an agent that Letta keeps; errors come before each of its own retries,
// and a run that fails ends with one, without a result.
#include <csignal>

#include "agents/fields.h"
#include "agents/preset.h"
#include "agents/run_record.h"

namespace drover::agents {
namespace {

constexpr int kStopSignals[] = {SIGTERM};
constexpr std::string_view kLoginVariables[] = {"LETTA_API_KEY"};
constexpr std::string_view kLoginFiles[] = {".letta/settings.json"};

std::string_view permission_mode(Permissions permissions) {
  switch (permissions) {
    case Permissions::kBypass:
      return "unrestricted";
    case Permissions::kEdits:
      return "acceptEdits";
    case Permissions::kReadOnly:
      return "standard";  // what would ask is refused
  }
  return {};
}

void add_arguments(const AgentCall& call, Arguments& arguments) {
  arguments.add("-p", "--output-format", "stream-json", "--permission-mode", permission_mode(call.permissions));
  if (call.resume_session) {
    arguments.add("--conv", *call.resume_session);  // which knows its agent, and refuses another
  } else if (call.agent) {
    arguments.add("--agent", *call.agent);
  } else {
    arguments.add("--new-agent");
  }
  arguments.add_if_set("--model", call.model);
  if (call.max_turns) arguments.add("--max-turns", std::to_string(*call.max_turns));
  arguments.add_all(call.args);
}

// The server counts cached tokens among those of the prompt, the local backend beside them; the total tells.
TokenCounts tokens_of(const json::Value& usage) {
  const std::int64_t prompt = count_of(usage, "prompt_tokens");
  const std::int64_t output = count_of(usage, "completion_tokens");
  const std::int64_t cached = count_of(usage, "cached_input_tokens");
  const std::int64_t written = count_of(usage, "cache_write_tokens");
  const bool is_beside = count_of(usage, "total_tokens") >= prompt + output + cached + written;
  return {.input = is_beside ? prompt : std::max<std::int64_t>(prompt - cached - written, 0),
          .cached_input = cached,
          .cache_write = written,
          .output = output,
          .reasoning = count_of(usage, "reasoning_tokens")};
}

std::optional<Millis> delay_of(const json::Value& retry) {
  return int_of(retry, "delay_ms").transform([](std::int64_t ms) { return Millis(ms); });
}

void read_tool_call(const json::Value& line, RunRecord& run) {
  const json::Value& call = child_of(line, "tool_call");
  if (call.as_object() != nullptr) {
    run.call_tool(text_of(call, "tool_call_id"), text_of(call, "name"), child_of(call, "arguments"));
  }
}

void read_message(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "message_type");
  const json::Value& event = child_of(line, "event_data");
  if (type == "assistant_message") {
    run.say(text_of(line, "id"), content_text(child_of(line, "content")));
  } else if (type == "reasoning_message") {
    run.reason(text_of(line, "reasoning"));
  } else if (type == "tool_call_message" || type == "approval_request_message") {
    read_tool_call(line, run);
  } else if (type == "tool_return_message") {
    run.tool_answered(text_of(line, "tool_call_id"), content_text(child_of(line, "tool_return")),
                      text_of(line, "status") == "error");
  } else if (type == "usage_statistics") {
    run.request(text_of(line, "id"), {.tokens = tokens_of(line)});
  } else if (type == "event_message" && text_of(line, "event_type") == "retry") {
    Trouble why = trouble_of(text_of(event, "message"));
    read_members(event, run.clock(), why);
    run.retrying(std::move(why), delay_of(event));
  }
}

Trouble trouble_in(const json::Value& line, std::string_view text, const RunRecord& run) {
  const json::Value& api_error = child_of(line, "api_error");
  Trouble what = trouble_of(text);
  read_members(line, run.clock(), what);
  read_members(api_error, run.clock(), what);
  return what;
}

void read_result(const json::Value& line, RunRecord& run) {
  if (const json::Value& usage = child_of(line, "usage"); usage.as_object() != nullptr) {
    run.settle_requests({{.tokens = tokens_of(usage)}}, std::nullopt);
  }
  if (text_of(line, "subtype") == "success" && !is_true(line, "is_error")) {
    run.succeed(json::quote(text_of(line, "result")));
    return;
  }
  std::string_view text = text_of(line, "result");
  if (text.empty()) text = text_of(line, "stop_reason");
  run.fail(trouble_in(line, text.empty() ? text_of(line, "subtype") : text, run));
}

void read_line(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "type");
  run.session(text_of(line, "conversation_id"));
  if (type == "message") {
    read_message(line, run);
  } else if (type == "retry") {
    Trouble why{.text = std::string(text_of(line, "reason"))};
    read_members(line, run.clock(), why);
    run.retrying(std::move(why), delay_of(line));
  } else if (type == "error") {
    run.trouble(trouble_in(line, text_of(line, "message"), run));
  } else if (type == "result") {
    read_result(line, run);
  } else if (type != "system" && type != "stream_event") {
    run.raw(json::dump(line));
  }
}

}  // namespace

Preset letta_preset() {
  return {.name = "letta",
          .program = "letta",
          .provider = "",
          .stop_signals = kStopSignals,
          .environment = {},
          .login_variables = kLoginVariables,
          .login_files = kLoginFiles,
          .lost_session = "(?i)conversation .*not found",
          .exits = {},
          .add_arguments = add_arguments,
          .read_line = read_line};
}

}  // namespace drover::agents
