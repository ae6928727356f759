#include "core/task_json.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/fingerprint.h"
#include "core/lane.h"
#include "core/names.h"
#include "core/task_fields.h"

namespace drover {
namespace {

using json::Writer;

// A JSON value that is written as it stands.
struct Raw {
  explicit Raw(const std::optional<JsonText>& value) : text(value ? std::string_view(*value) : "null") {}
  explicit Raw(const JsonText& value) : text(value) {}

  std::string_view text;
};

void write(Writer& out, std::string_view text) {
  out.string(text);
}
void write(Writer& out, const std::string& text) {
  out.string(text);
}
void write(Writer& out, std::int64_t number) {
  out.number(number);
}
void write(Writer& out, int number) {
  out.number(number);
}
void write(Writer& out, bool value) {
  out.boolean(value);
}
void write(Writer& out, Time time) {
  out.string(format_time(time));
}
void write(Writer& out, Millis duration) {
  out.number(duration.count());
}
void write(Writer& out, const TaskId& id) {
  out.string(id.to_string());
}
void write(Writer& out, Raw value) {
  out.raw(value.text);
}
void write(Writer& out, TaskState state) {
  out.string(name_of(state));
}
void write(Writer& out, OnParentFailure policy) {
  out.string(name_of(policy));
}
void write(Writer& out, DedupeMode mode) {
  out.string(name_of(mode));
}
void write(Writer& out, const RetryPolicy& policy) {
  out.string(to_string(policy));
}
void write(Writer& out, const ParentRef& parent) {
  const TaskId* id = std::get_if<TaskId>(&parent);
  out.string(id != nullptr ? id->to_string() : "@" + std::get<std::string>(parent));
}

void write(Writer& out, const TaskError& error);
void write(Writer& out, const Escalation& escalation);
void write(Writer& out, const Progress& progress);
void write(Writer& out, const Serve& serve);
struct CutError;
void write(Writer& out, const CutError& cut);
void write(Writer& out, const TaskGraph::Node& node);
void write(Writer& out, const TaskGraph::Edge& edge);

template <class T>
void write(Writer& out, const std::optional<T>& value) {
  if (value) {
    write(out, *value);
  } else {
    out.null();
  }
}

template <class T>
void write(Writer& out, const std::vector<T>& items) {
  out.begin_array();
  for (const T& item : items) write(out, item);
  out.end_array();
}

// Members of one object, one after the other.
class Object {
 public:
  explicit Object(Writer& out) : out_(out) { out_.begin_object(); }
  ~Object() { out_.end_object(); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <class T>
  Object& put(std::string_view key, const T& value) {
    out_.key(key);
    write(out_, value);
    return *this;
  }

 private:
  Writer& out_;
};

void write(Writer& out, const TaskError& error) {
  Object(out)
      .put("class", name_of(error.error_class))
      .put("message", error.message)
      .put("fingerprint", fingerprint(error));
}
void write(Writer& out, const Escalation& escalation) {
  Object(out).put("to", escalation.to).put("by", escalation.by).put("why", escalation.why).put("at", escalation.at);
}
void write(Writer& out, const Progress& progress) {
  Object(out).put("percent", progress.percent).put("message", progress.message);
}
void write(Writer& out, const Serve& serve) {
  Object(out).put("queue", serve.queue).put("type", serve.type).put("trouble", serve.trouble);
}

// As everybody sees it; with what follows from other fields.
template <class Field>
void put_field(Object& object, Field field, const Task& task) {
  if constexpr (field.kIs.kind == FieldKind::kJson) {
    object.put(field.name(), Raw{field.of(task)});
  } else if constexpr (field.template is<&Task::gates>()) {
    object.put(field.name(), gates_of(task));
  } else {
    object.put(field.name(), field.of(task));
  }
  if constexpr (field.template is<&Task::dedupe_key>())
    object.put("locks", locks_of(task)).put("session", session_in(task));
}

// "Unset is null" leaves no other way to say that a value is there and is null. Rare, so it is said only then.
class NullValues {
 public:
  void look(std::string_view name, const std::optional<JsonText>& value) {
    if (value == "null") names_.emplace_back(name);
  }
  void put(Object& object) const {
    if (!names_.empty()) object.put("null_values", names_);
  }

 private:
  std::vector<std::string> names_;
};

// What a caller leaves unset is left out.
template <class T>
void put_given(Object& object, std::string_view name, const T& value) {
  object.put(name, value);
}
template <class T>
void put_given(Object& object, std::string_view name, const std::optional<T>& value) {
  if (value) object.put(name, *value);
}
template <class T>
void put_given(Object& object, std::string_view name, const std::vector<T>& items) {
  if (!items.empty()) object.put(name, items);
}
void put_given_json(Object& object, std::string_view name, const std::optional<JsonText>& value) {
  static const JsonText kNoJson = " ";  // no text is no JSON, as its reader will say
  if (value) object.put(name, Raw{value->empty() ? kNoJson : *value});
}
void put_given_duration(Object& object, std::string_view name, const std::optional<Millis>& duration) {
  if (duration) object.put(name, format_duration(*duration));
}

// A document whose one object `fill` writes.
template <class Fill>
std::string document(Fill fill) {
  Writer out;
  {
    Object object(out);
    fill(object);
  }
  return std::move(out).take();
}

}  // namespace

std::string to_json(const Task& task) {
  return document([&](Object& object) {
    NullValues nulls;
    visit_task_fields([&](auto field) {
      if constexpr (field.kIsPublic) put_field(object, field, task);
      if constexpr (field.kIsPublic && field.kIs.kind == FieldKind::kJson) nulls.look(field.name(), field.of(task));
    });
    nulls.put(object);
  });
}

std::string to_json(const TaskSpec& spec) {
  return document([&](Object& object) {
    NullValues nulls;
    visit_task_fields([&](auto field) {
      if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kJson) {
        put_given_json(object, field.name(), field.asked(spec));
        nulls.look(field.name(), field.asked(spec));
      } else if constexpr (field.kIsAsked) {
        put_given(object, field.name(), field.asked(spec));
      }
    });
    put_given(object, "dedupe_window_ms", spec.dedupe_window);
    put_given(object, "locks", spec.locks);
    put_given(object, "session", spec.session);
    if (spec.busy) object.put("busy", name_of(*spec.busy));
    put_given_duration(object, "delay", spec.delay);
    put_given_duration(object, "deadline", spec.deadline);
    nulls.put(object);
  });
}

void read_children(json::Reader& in, Suspend& out) {
  std::optional<JsonText> text;
  in.get_text("children", text);
  if (text && *text != R"("all")") in.get("children", out.children);
}

namespace {

void put_snapshot(Object& object, const Task& task) {
  object.put("id", task.id)
      .put("type", task.type)
      .put("queue", task.queue)
      .put("owner", task.owner)
      .put("state", name_of(task.state))
      .put("priority", task.priority)
      .put("parent_id", task.parent_id)
      .put("run", task.run)
      .put("attempts", task.attempts)
      .put("generation", task.generation)
      .put("run_at", task.run_at)
      .put("created_at", task.created_at)
      .put("started_at", task.started_at)
      .put("progress", task.progress)
      .put("worker_id", task.worker_id)
      .put("usage", Raw{task.usage})
      .put("cancel_requested_at", task.cancel_requested_at);
}

struct CutError {
  const TaskError& error;
};
void write(Writer& out, const CutError& cut) {
  const std::string message = first_chars(cut.error.message, kSummaryErrorChars);
  Object(out)
      .put("class", name_of(cut.error.error_class))
      .put("message", message)
      .put("cut", message.size() < cut.error.message.size());
}

void write(Writer& out, const TaskGraph::Node& node) {
  Object(out)
      .put("id", node.task.id)
      .put("type", node.task.type)
      .put("queue", node.task.queue)
      .put("owner", node.task.owner)
      .put("state", node.task.state)
      .put("created_at", node.task.created_at)
      .put("started_at", node.task.started_at)
      .put("finished_at", node.task.finished_at)
      .put("distance", node.distance)
      .put("more", node.more);
}

void write(Writer& out, const TaskGraph::Edge& edge) {
  Object(out).put("from", edge.from).put("to", edge.to).put("kind", name_of(edge.kind));
}

}  // namespace

std::string first_chars(std::string_view text, std::size_t chars) {
  std::size_t bytes = 0;
  for (; chars > 0 && bytes < text.size(); --chars) {
    const Utf8Step step = utf8_step(text.substr(bytes));
    if (!step.valid) break;  // cut off, if the text was UTF-8
    bytes += step.bytes;
  }
  return std::string(text.substr(0, bytes));
}

TaskSummary summary_of(Task task) {
  TaskSummary summary;
  if (const std::optional<std::string>& text = task.prompt ? task.prompt : task.payload) {
    summary.excerpt = first_chars(*text, kExcerptChars);
  }
  for (std::optional<std::string>* text :
       {&task.payload, &task.prompt, &task.system_prompt, &task.fallback_result, &task.checkpoint, &task.result}) {
    text->reset();
  }
  std::ranges::sort(task.tags);  // stores find them by name
  summary.task = std::move(task);
  return summary;
}

std::string to_snapshot_json(const Task& task) {
  return document([&](Object& object) { put_snapshot(object, task); });
}

std::string to_json(const TaskSummary& summary) {
  const Task& task = summary.task;
  return document([&](Object& object) {
    put_snapshot(object, task);
    object.put("max_attempts", task.max_attempts)
        .put("finished_at", task.finished_at)
        .put("tags", task.tags)
        .put("model", task.model)
        .put("agent_id", task.agent_id)
        .put("excerpt", summary.excerpt)
        .put("error", task.error ? std::optional(CutError{*task.error}) : std::nullopt)
        .put("escalated", task.escalation.has_value());
  });
}

std::string to_json(const TaskGraph& graph) {
  return document([&](Object& object) {
    const bool more = std::ranges::any_of(graph.nodes, &TaskGraph::Node::more);
    object.put("root", graph.root).put("nodes", graph.nodes).put("edges", graph.edges).put("more", more);
  });
}

std::string to_json(const RunSummary& run) {
  return document([&](Object& object) {
    object.put("run", run.run)
        .put("generation", run.generation)
        .put("worker_id", run.worker_id)
        .put("started_at", run.started_at)
        .put("ended_at", run.ended_at)
        .put("outcome", run.ended_at ? std::optional(run.outcome) : std::nullopt)
        .put("error", run.error)
        .put("exit_code", run.exit_code)
        .put("note", run.note)
        .put("usage", Raw{run.usage})
        .put("change", Raw{run.change})
        .put("evidence", Raw{run.evidence});
  });
}

std::string to_json(const Event& event) {
  return document([&](Object& object) {
    // An event of a gate is of no task.
    const auto of_task = [&](const auto& value) { return event.task.is_nil() ? std::nullopt : std::optional(value); };
    object.put("seq", event.seq)
        .put("at", event.at)
        .put("name", event.name)
        .put("task_id", of_task(event.task))
        .put("type", of_task(event.type))
        .put("queue", of_task(event.queue))
        .put("owner", of_task(event.owner))
        .put("state", of_task(name_of(event.state)))
        .put("run", of_task(event.run))
        .put("generation", of_task(event.generation))
        .put("data", Raw{event.data});
  });
}

std::string to_json(const Enqueued& enqueued) {
  return document([&](Object& object) {
    object.put("id", enqueued.id).put("state", name_of(enqueued.state)).put("deduplicated", enqueued.deduplicated);
  });
}

std::string to_json(const CancelEffect& effect) {
  return document([&](Object& object) {
    object.put("id", effect.id)
        .put("type", effect.type)
        .put("from", effect.from ? std::optional(name_of(*effect.from)) : std::nullopt)
        .put("to", name_of(effect.to));
  });
}

std::string to_json(const WorkerInfo& worker) {
  return document([&](Object& object) {
    object.put("id", worker.id)
        .put("version", worker.version)
        .put("serves", worker.serves)
        .put("capacity", worker.capacity)
        .put("running", worker.running)
        .put("registered_at", worker.registered_at)
        .put("last_beat_at", worker.last_beat_at)
        .put("draining", worker.draining)
        .put("drain_by", worker.drain_by)
        .put("drain_reason", worker.drain_reason)
        .put("token_id", worker.token_id)
        .put("workspace_bytes", worker.workspace_bytes);
  });
}

std::string to_json(const ErrorGroup& group) {
  return document([&](Object& object) {
    const bool is_one_kind = !group.fingerprint.empty();
    const auto of_kind = [&](const auto& value) { return is_one_kind ? std::optional(value) : std::nullopt; };
    object.put("fingerprint", of_kind(group.fingerprint))
        .put("class", of_kind(name_of(group.error_class)))
        .put("pattern", group.pattern)
        .put("count", group.count)
        .put("escalated", group.escalated)
        .put("types", group.types)
        .put("first_at", group.first_at)
        .put("last_at", group.last_at)
        .put("example", group.example);
  });
}

std::string to_json(const LogRecord& record) {
  return document([&](Object& object) {
    object.put("seq", record.seq)
        .put("run", record.run)
        .put("at", record.at)
        .put("stream", name_of(record.stream))
        .put("text", record.text)
        .put("left_out_before", record.left_out_before);
  });
}

}  // namespace drover
