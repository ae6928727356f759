// Tasks, their runs, events and logs.
#include <algorithm>
#include <array>

#include "base/json_reader.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/names.h"
#include "core/task_fields.h"
#include "wire/read.h"
#include "wire/read_names.h"
#include "wire/write.h"

namespace drover {
namespace {

using json::Reader;

// The gates that go without saying are shown with the others, but are not the task's own.
bool goes_without_saying(const std::string& gate) {
  const auto name = parse_gate_name(gate);
  return name && info_of(name->kind).asked_by == GateKindInfo::AskedBy::kEveryTask;
}

// Every task has these, even one of which little is shown.
template <class Field>
constexpr bool is_needed(Field field) {
  return field.template is<&Task::id, &Task::type, &Task::queue, &Task::owner, &Task::state, &Task::priority,
                           &Task::created_at>();
}

template <class Field>
void read_field(Reader& in, Field field, Task& out) {
  if constexpr (field.kIs.kind == FieldKind::kJson) {
    in.get_text(field.name(), field.of(out));
  } else if constexpr (is_needed(field)) {
    in.need(field.name(), field.of(out));
  } else {
    in.get(field.name(), field.of(out));
  }
}

}  // namespace

Status read_json(std::string_view json, OnParentFailure& out) {
  return read_name(json, out, "policy for a parent's failure", parse_on_parent_failure);
}

Status read_json(std::string_view json, DedupeMode& out) {
  return read_name(json, out, "dedupe mode", parse_dedupe_mode);
}

Status read_json(std::string_view json, RetryPolicy& out) {
  std::string text;
  TRY(json::read_json(json, text));
  auto policy = parse_retry_policy(text);
  if (!policy) return std::unexpected(std::move(policy.error()));
  out = *std::move(policy);
  return {};
}

Status read_json(std::string_view json, TaskError& out) {
  Reader in(json);
  in.need("class", out.error_class).need("message", out.message);
  return in.finish();
}

Status read_json(std::string_view json, Escalation& out) {
  Reader in(json);
  in.need("to", out.to).need("by", out.by).need("why", out.why).need("at", out.at);
  return in.finish();
}

Status read_json(std::string_view json, TaskState& out) {
  return read_name(json, out, "state", parse_task_state);
}

Status read_json(std::string_view json, ErrorClass& out) {
  return read_name(json, out, "error class", parse_error_class);
}

Status read_json(std::string_view json, LogStream& out) {
  return read_name(json, out, "stream (stdout, stderr, drover, transcript)", parse_log_stream);
}

Status read_json(std::string_view json, Progress& out) {
  Reader in(json);
  in.need("percent", out.percent).get("message", out.message);
  return in.finish();
}

Status read_json(std::string_view json, Task& out) {
  Reader in(json);
  std::vector<std::string> nulls;
  in.get("null_values", nulls);
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsPublic) read_field(in, field, out);
    if constexpr (field.kIsPublic && field.kIs.kind == FieldKind::kJson) {
      if (std::ranges::find(nulls, field.name()) != nulls.end()) field.of(out) = "null";
    }
  });
  std::erase_if(out.gates, goes_without_saying);
  return in.finish();
}

Status read_json(std::string_view json, RunSummary& out) {
  Reader in(json);
  in.need("run", out.run).need("generation", out.generation).need("worker_id", out.worker_id);
  in.need("started_at", out.started_at).get("ended_at", out.ended_at).get("outcome", out.outcome);
  in.get("error", out.error).get("exit_code", out.exit_code).get("note", out.note);
  in.get_text("usage", out.usage).get_text("change", out.change).get_text("evidence", out.evidence);
  return in.finish();
}

Status read_json(std::string_view json, Event& out) {
  Reader in(json);
  std::optional<JsonText> data;
  in.need("seq", out.seq).need("at", out.at).need("name", out.name).get("task_id", out.task).get("type", out.type);
  in.get("queue", out.queue).get("owner", out.owner).get("state", out.state).get("run", out.run);
  in.get("generation", out.generation).get_text("data", data);
  out.data = std::move(data).value_or("{}");
  return in.finish();
}

Status read_json(std::string_view json, Enqueued& out) {
  Reader in(json);
  in.need("id", out.id).need("state", out.state).need("deduplicated", out.deduplicated);
  return in.finish();
}

Status read_json(std::string_view json, CancelOutcome& out) {
  Reader in(json);
  in.need("state", out.state).need("cancelled", out.cancelled).need("requested", out.requested);
  return in.finish();
}

Status read_json(std::string_view json, CancelEffect& out) {
  Reader in(json);
  in.need("id", out.id).need("type", out.type).get("from", out.from).need("to", out.to);
  return in.finish();
}

Status read_json(std::string_view json, Searched& out) {
  Reader in(json);
  in.need("tasks", out.tasks).need("back_to", out.back_to);
  return in.finish();
}

Status read_json(std::string_view json, TaskPage& out) {
  Reader in(json);
  in.need("tasks", out.tasks).get("cursor", out.cursor).get("searched", out.searched);
  return in.finish();
}

// The members of a task that a summary has are read as those of a task.
Status read_json(std::string_view json, TaskSummary& out) {
  TRY(read_json(json, out.task));
  Reader in(json);
  bool is_escalated = false;
  in.get("excerpt", out.excerpt).get("escalated", is_escalated);
  if (is_escalated) out.task.escalation.emplace();
  return in.finish();
}

Status read_json(std::string_view json, SummaryPage& out) {
  Reader in(json);
  in.need("tasks", out.tasks).get("cursor", out.cursor).get("searched", out.searched);
  return in.finish();
}

Status read_json(std::string_view json, TaskGraph::EdgeKind& out) {
  return read_name(json, out, "kind of edge", parse_edge_kind);
}

Status read_json(std::string_view json, TaskGraph::Edge& out) {
  Reader in(json);
  in.need("from", out.from).need("to", out.to).need("kind", out.kind);
  return in.finish();
}

Status read_json(std::string_view json, TaskGraph::Node& out) {
  Reader in(json);
  in.need("id", out.task.id).need("type", out.task.type).need("queue", out.task.queue).need("owner", out.task.owner);
  in.need("state", out.task.state).need("created_at", out.task.created_at).get("started_at", out.task.started_at);
  in.get("finished_at", out.task.finished_at).need("distance", out.distance).need("more", out.more);
  return in.finish();
}

Status read_json(std::string_view json, TaskGraph& out) {
  Reader in(json);
  in.need("root", out.root).need("nodes", out.nodes).need("edges", out.edges);
  return in.finish();
}

Status read_json(std::string_view json, LogChunk& out) {
  Reader in(json);
  in.get("stream", out.stream).need("text", out.text);
  return in.finish();
}

Status read_json(std::string_view json, LogRecord& out) {
  Reader in(json);
  in.need("seq", out.seq).need("run", out.run).need("at", out.at).need("stream", out.stream).need("text", out.text);
  in.get("left_out_before", out.left_out_before);
  return in.finish();
}

Status read_json(std::string_view json, LogPage& out) {
  Reader in(json);
  in.need("records", out.records).need("left_out_bytes", out.left_out_bytes);
  return in.finish();
}

Status read_json(std::string_view json, RetryOrder& out) {
  Reader in(json);
  in.get("why", out.verdict.why).get_any_text("payload", out.payload);
  in.get_any_text("patch", out.patch).get("run_at", out.run_at);
  return in.finish_strictly();
}

}  // namespace drover
