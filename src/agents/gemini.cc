// Gemini CLI. It tells of its own retries on stderr alone, its exit code may be an HTTP status modulo 256, and a signal
// ends it with exit code 0 and no result.
#include <re2/re2.h>

#include <csignal>

#include "agents/fields.h"
#include "agents/preset.h"
#include "agents/run_record.h"

namespace drover::agents {
namespace {

constexpr int kStopSignals[] = {SIGTERM};
constexpr std::string_view kLoginVariables[] = {"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"};
constexpr std::string_view kLoginFiles[] = {".gemini/oauth_creds.json", ".gemini/google_accounts.json"};
constexpr ExitMeaning kExits[] = {{41, ErrorClass::kAuth}, {53, ErrorClass::kMaxTurns}};

std::string_view approval_mode(Permissions permissions) {
  switch (permissions) {
    case Permissions::kBypass:
      return "yolo";
    case Permissions::kEdits:
      return "auto_edit";
    case Permissions::kReadOnly:
      return "plan";
  }
  return {};
}

void add_arguments(const AgentCall& call, Arguments& arguments) {
  arguments.add("-o", "stream-json", "--approval-mode", approval_mode(call.permissions), "--skip-trust");
  if (call.resume_session) {
    arguments.add("--resume", *call.resume_session);
  } else {
    arguments.add_if_set("--session-id", call.new_session);
  }
  arguments.add_if_set("-m", call.model);
  arguments.add_all(call.args);
}

// Thoughts are in the total only.
TokenCounts tokens_of(const json::Value& stats) {
  const std::int64_t input = count_of(stats, "input_tokens");
  const std::int64_t answer = count_of(stats, "output_tokens");
  const std::int64_t cached = std::min(count_of(stats, "cached"), input);
  const std::int64_t thoughts = std::max<std::int64_t>(count_of(stats, "total_tokens") - input - answer, 0);
  return {.input = input - cached, .cached_input = cached, .output = answer + thoughts, .reasoning = thoughts};
}

void read_stats(const json::Value& stats, RunRecord& run) {
  if (stats.as_object() == nullptr) return;
  std::vector<Spent> spent;
  for (const auto& [model, used] : members_of(child_of(stats, "models"))) {
    if (const TokenCounts tokens = tokens_of(used); tokens != TokenCounts{}) {
      spent.push_back({.model = model, .tokens = tokens});
    }
  }
  if (spent.empty()) spent.push_back({.tokens = tokens_of(stats)});
  run.tool_calls_at_least(count_of(stats, "tool_calls"));
  run.settle_requests(spent, std::nullopt);
}

Trouble trouble_in(const json::Value& error, const RunRecord& run) {
  Trouble what{.text = std::string(text_of(error, "message"))};
  read_members(error, run.clock(), what);
  // The same words for requests in a minute, which come back soon, and for those in a day.
  if (what.text.contains("exceeded your current quota")) {
    const bool comes_back = wait_in_text(what.text, run.clock()).retry_after.has_value();
    what.known = comes_back ? ErrorClass::kRateLimited : ErrorClass::kQuotaExhausted;
  }
  return what;
}

void read_tool_result(const json::Value& line, RunRecord& run) {
  const std::string_view output = text_of(line, "output");
  const std::string_view error = text_of(child_of(line, "error"), "message");
  run.tool_answered(text_of(line, "tool_id"), output.empty() ? error : output, text_of(line, "status") == "error");
}

void read_result(const json::Value& line, RunRecord& run) {
  read_stats(child_of(line, "stats"), run);
  if (text_of(line, "status") == "success") {
    run.succeed_with_last_answer();
  } else {
    run.fail(trouble_in(child_of(line, "error"), run));
  }
}

void read_line(const json::Value& line, RunRecord& run) {
  const std::string_view type = text_of(line, "type");
  if (type == "init") {
    run.session(text_of(line, "session_id"));
  } else if (type == "message") {
    if (text_of(line, "role") != "assistant") return;
    run.say(is_true(line, "delta") ? std::string_view() : text_of(line, "timestamp"),
            content_text(child_of(line, "content")));
  } else if (type == "tool_use") {
    run.call_tool(text_of(line, "tool_id"), text_of(line, "tool_name"), child_of(line, "parameters"));
  } else if (type == "tool_result") {
    read_tool_result(line, run);
  } else if (type == "error" && text_of(line, "severity") == "warning") {
    run.warn(text_of(line, "message"));
  } else if (type == "error") {
    run.trouble(trouble_in(line, run));
  } else if (type == "result") {
    read_result(line, run);
  } else {
    run.raw(json::dump(line));
  }
}

void read_error_line(std::string_view line, RunRecord& run) {
  static const re2::RE2 kRetry(R"(^Attempt \d+ failed(?: with (?:status )?(\d{3}))?.*Retrying)");
  int status = 0;
  std::string digits;
  if (!re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), kRetry, &digits)) return;
  Trouble why{.text = std::string(line)};
  if (re2::RE2::FullMatch(digits, R"((\d+))", &status)) why.status = status;
  run.retrying(std::move(why), std::nullopt);
}

}  // namespace

Preset gemini_preset() {
  return {.name = "gemini",
          .program = "gemini",
          .provider = "google",
          .takes_session_id = true,
          .tells_usage_late = true,
          .stop_signals = kStopSignals,
          .environment = {},
          .login_variables = kLoginVariables,
          .login_files = kLoginFiles,
          .lost_session = "(?i)error resuming session|invalid session identifier|no previous sessions",
          .exits = kExits,
          .add_arguments = add_arguments,
          .read_line = read_line,
          .read_error_line = read_error_line};
}

}  // namespace drover::agents
