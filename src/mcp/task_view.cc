#include "mcp/task_view.h"

#include <algorithm>

#include "mcp/clean_text.h"

namespace drover::mcp {
namespace {

constexpr std::size_t kRunsMax = 10;

void write_time(json::Writer& out, std::string_view key, const std::optional<Time>& time) {
  if (time) out.key(key).string(format_time(*time));
}

void write_members(json::Writer& out, const Task& task) {
  out.key("task_id").string(task.id.to_string()).key("type").string(task.type);
  out.key("state").string(name_of(task.state)).key("queue").string(task.queue).key("priority").number(task.priority);
  write_time(out, "created_at", task.created_at);
  write_time(out, "run_at", task.state == TaskState::kScheduled ? task.run_at : std::nullopt);
  write_time(out, "started_at", task.started_at);
  write_time(out, "finished_at", task.finished_at);
  out.key("attempts").number(task.attempts).key("max_attempts").number(task.max_attempts);
  if (task.parent_id) out.key("parent_id").string(task.parent_id->to_string());
  if (task.progress) {
    out.key("progress").begin_object().key("percent").number(task.progress->percent);
    out.key("message").string(short_text(task.progress->message)).end_object();
  }
  if (task.cancel_requested_at && !is_terminal(task.state)) out.key("cancel_requested").boolean(true);
}

void write_error(json::Writer& out, const TaskError& error) {
  out.begin_object().key("class").string(name_of(error.error_class));
  out.key("message").string(short_text(error.message, 4 * kShortTextBytesMax)).end_object();
}

// Whole if it is short; otherwise its beginning as text.
void write_result(json::Writer& out, const JsonText& result) {
  const auto value = result.size() <= kResultBytesMax ? json::parse(result) : Result<json::Value>(json::Value());
  if (value && result.size() <= kResultBytesMax) {
    out.key("result").raw(json::dump(clean_value(*value)));
    return;
  }
  const std::string clean = clean_text(result);
  out.key("result_text").string(first_bytes(clean, kResultBytesMax));
  out.key("result_truncated").boolean(true).key("result_bytes").number(static_cast<std::int64_t>(result.size()));
}

}  // namespace

int percent_of(const Task& task) {
  return task.progress ? task.progress->percent : 0;
}

void write_summary(json::Writer& out, const Task& task) {
  out.begin_object();
  write_members(out, task);
  if (task.error) {
    out.key("error");
    write_error(out, *task.error);
  }
  out.key("untrusted").boolean(true).end_object();
}

void write_task(json::Writer& out, const Task& task) {
  write_members(out, task);
  if (!task.tags.empty()) {
    out.key("tags").begin_array();
    for (const std::string& tag : task.tags) out.string(clean_text(tag));
    out.end_array();
  }
  if (!task.depends_on.empty()) {
    out.key("depends_on").begin_array();
    for (const TaskId& id : task.depends_on) out.string(id.to_string());
    out.end_array();
  }
  if (task.prompt) out.key("prompt").string(short_text(*task.prompt));
  if (task.result) write_result(out, *task.result);
  if (task.error) {
    out.key("error");
    write_error(out, *task.error);
  }
  if (task.exit_code) out.key("exit_code").number(*task.exit_code);
  out.key("untrusted").boolean(true);
}

void write_runs(json::Writer& out, std::span<const RunSummary> runs) {
  out.key("runs").begin_array();
  for (const RunSummary& run : runs.first(std::min(runs.size(), kRunsMax))) {
    out.begin_object().key("run").number(run.run);
    out.key("outcome").string(run.outcome.empty() ? "running" : run.outcome);
    write_time(out, "started_at", run.started_at);
    write_time(out, "ended_at", run.ended_at);
    if (run.error) {
      out.key("error");
      write_error(out, *run.error);
    }
    if (run.note) out.key("note").string(short_text(*run.note));
    out.end_object();
  }
  out.end_array();
}

void write_explanation(json::Writer& out, const Explanation& explanation) {
  out.key("explain").begin_object().key("reason").string(name_of(explanation.reason));
  out.key("text").string(short_text(explanation.text));
  write_time(out, "at", explanation.at);
  out.end_object();
}

}  // namespace drover::mcp
