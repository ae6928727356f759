#include "mcp/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"

namespace drover::mcp {
namespace {

using json::Reader;

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// The id in full, as a tool gave it.
Result<TaskId> read_id(std::string_view text) {
  const auto id = TaskId::parse(text);
  if (!id) return bad(fmt::format("{} is not a task id", quoted_excerpt(text)));
  return *id;
}

Result<std::vector<TaskId>> read_ids(const std::vector<std::string>& texts) {
  std::vector<TaskId> ids;
  for (const std::string& text : texts) {
    const auto id = TRY(read_id(text));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

Result<Millis> read_wait_seconds(std::string_view name, int seconds) {
  if (seconds < 0 || seconds > kWaitSecondsMax) {
    return bad(fmt::format("{} must be from 0 to {}, not {}", name, kWaitSecondsMax, seconds));
  }
  return std::chrono::seconds(seconds);
}

// A number of seconds, or a duration: "30s", "2h".
Result<std::optional<Millis>> read_delay(const std::optional<std::string>& json) {
  if (!json) return std::nullopt;
  const auto value = TRY(json::parse(*json));
  if (const std::string* text = value.as_string()) {
    const auto delay = TRY(parse_duration(*text));
    return delay;
  }
  constexpr std::int64_t kSecondsMax = std::chrono::floor<std::chrono::seconds>(kDurationMax).count();
  const auto seconds = value.as_int();
  if (!seconds || *seconds < 0 || *seconds > kSecondsMax) {
    return bad("delay: expected a duration, like \"30s\", or a whole number of seconds");
  }
  return Millis(std::chrono::seconds(*seconds));
}

}  // namespace

Result<EnqueueArguments> read_enqueue(std::string_view json) {
  EnqueueArguments arguments;
  TaskSpec& spec = arguments.spec;
  std::vector<std::string> depends_on;
  std::optional<std::string> delay;
  int wait_seconds = 0;
  Reader in(json);
  in.need("type", spec.type).get("prompt", spec.prompt).get_any_text("payload", spec.payload);
  in.get("priority", spec.priority).get_text("delay", delay).get("depends_on", depends_on).get("tags", spec.tags);
  in.get("request_id", spec.request_id).get("wait_seconds", wait_seconds);
  TRY(in.finish_strictly());
  const auto parents = TRY(read_ids(depends_on));
  spec.depends_on.assign(parents.begin(), parents.end());
  spec.delay = TRY(read_delay(delay));
  arguments.wait = TRY(read_wait_seconds("wait_seconds", wait_seconds));
  return arguments;
}

Result<GetArguments> read_get(std::string_view json) {
  GetArguments arguments;
  std::string id;
  std::vector<std::string> include;
  Reader in(json);
  in.need("task_id", id).get("include", include);
  TRY(in.finish_strictly());
  arguments.id = TRY(read_id(id));
  for (const std::string& part : include) {
    bool* const wanted = part == "log"       ? &arguments.log
                         : part == "runs"    ? &arguments.runs
                         : part == "explain" ? &arguments.explain
                                             : nullptr;
    if (wanted == nullptr) return bad(fmt::format("include: {} is not log, runs or explain", quoted_excerpt(part)));
    *wanted = true;
  }
  return arguments;
}

Result<WaitArguments> read_wait(std::string_view json) {
  WaitArguments arguments;
  std::vector<std::string> ids;
  std::string until = "all";
  int seconds = kWaitSecondsDefault;
  Reader in(json);
  in.need("task_ids", ids).get("until", until).get("timeout_seconds", seconds);
  TRY(in.finish_strictly());
  if (ids.empty() || ids.size() > kWaitedTasksMax) {
    return bad(fmt::format("task_ids must have 1 to {} ids, not {}", kWaitedTasksMax, ids.size()));
  }
  if (until != "all" && until != "any") return bad(fmt::format("until: {} is not any or all", quoted_excerpt(until)));
  arguments.until = until == "any" ? Until::kAny : Until::kAll;
  arguments.ids = TRY(read_ids(ids));
  arguments.timeout = TRY(read_wait_seconds("timeout_seconds", seconds));
  return arguments;
}

Result<ListArguments> read_list(std::string_view json) {
  ListArguments arguments;
  TaskFilter& filter = arguments.filter;
  std::optional<std::string> state;
  std::optional<std::string> type;
  std::optional<std::string> tag;
  std::optional<std::string> parent;
  Reader in(json);
  in.get("state", state).get("type", type).get("tag", tag).get("parent_id", parent);
  in.get("limit", arguments.limit).get("cursor", arguments.cursor);
  TRY(in.finish_strictly());
  if (state) {
    const auto parsed = parse_task_state(*state);
    if (!parsed) return bad(fmt::format("state: {} is not a state of a task", quoted_excerpt(*state)));
    filter.states = {*parsed};
  }
  filter.type = type;
  filter.tag = tag;
  if (parent) filter.parent_id = TRY(read_id(*parent));
  if (arguments.limit < 1 || arguments.limit > kListedTasksMax) {
    return bad(fmt::format("limit must be from 1 to {}, not {}", kListedTasksMax, arguments.limit));
  }
  return arguments;
}

Result<VerdictArguments> read_verdict(std::string_view json) {
  VerdictArguments arguments;
  std::string id;
  Reader in(json);
  in.need("task_id", id).get("reason", arguments.reason);
  TRY(in.finish_strictly());
  arguments.id = TRY(read_id(id));
  return arguments;
}

}  // namespace drover::mcp
