#include "store/redis/record_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <unordered_map>

#include "base/json.h"
#include "base/text.h"
#include "core/lane.h"

namespace drover::redis {
namespace {

std::string text_of(Time time) {
  return std::to_string(time.time_since_epoch().count());
}
std::string text_of(Millis duration) {
  return std::to_string(duration.count());
}
std::string text_of(int number) {
  return std::to_string(number);
}
std::string text_of(const std::string& text) {
  return text;
}
std::string text_of(const TaskId& id) {
  return id.to_string();
}

// ---- writing

class FieldWriter {
 public:
  void put(std::string_view name, std::string value) { fields_.emplace_back(name, std::move(value)); }
  template <class T>
  void put_unless(std::string_view name, const T& value, const T& usual) {
    if (value != usual) put(name, text_of(value));
  }
  template <class T>
  void put_if_set(std::string_view name, const std::optional<T>& value) {
    if (value) put(name, text_of(*value));
  }
  void put_flag(std::string_view name, bool value) {
    if (value) put(name, "1");
  }
  [[nodiscard]] Fields take() && { return std::move(fields_); }

 private:
  Fields fields_;
};

const Task& usual() {
  static const Task task;
  return task;
}

void put_fixed(FieldWriter& out, const TaskRecord& record) {
  const Task& task = record.task;
  out.put("lane", lane_name(task));
  out.put("created", text_of(task.created_at));
  out.put_if_set("parent_id", task.parent_id);
  out.put_if_set("request_id", task.request_id);
  if (!record.request_hash.empty()) out.put("request_hash", record.request_hash);
  out.put_if_set("dedupe_key", task.dedupe_key);
  if (task.dedupe) out.put("dedupe", std::string(name_of(*task.dedupe)));
  if (task.retry != usual().retry) out.put("retry", to_string(task.retry));
  if (task.on_parent_failure != usual().on_parent_failure) {
    out.put("on_parent_failure", std::string(name_of(task.on_parent_failure)));
  }
  out.put_flag("at_most_once", task.at_most_once);
  out.put_unless("depth", record.depth, 0);
  out.put_if_set("deadline_span", record.deadline_span);
}

void put_counters(FieldWriter& out, const TaskRecord& record) {
  const Task& task = record.task;
  out.put_unless("run", task.run, 0);
  out.put_unless("attempts", task.attempts, 0);
  out.put_unless("max_attempts", task.max_attempts, usual().max_attempts);
  out.put_unless("stalls", task.stalls, 0);
  out.put_unless("max_stalls", task.max_stalls, usual().max_stalls);
  out.put_unless("defers", task.defers, 0);
  out.put_unless("max_defers", task.max_defers, usual().max_defers);
  out.put_unless("generation", task.generation, 1);
  out.put_unless("timeout", task.timeout, usual().timeout);
  out.put_unless("idle_timeout", task.idle_timeout, usual().idle_timeout);
  out.put_unless("unmet_parents", record.unmet_parents, 0);
  out.put_unless("dependents", record.dependents, 0);
  out.put_unless("children", record.children, 0);
}

void put_moving(FieldWriter& out, const TaskRecord& record) {
  const Task& task = record.task;
  out.put("state", std::string(name_of(task.state)));
  out.put_if_set("run_at", task.run_at);
  out.put_if_set("started", task.started_at);
  out.put_if_set("finished", task.finished_at);
  out.put_if_set("deadline", task.deadline_at);
  out.put_if_set("worker", task.worker_id);
  out.put_if_set("cancel_requested_at", task.cancel_requested_at);
  out.put_if_set("cancel_reason", task.cancel_reason);
  out.put_flag("fallback", task.fallback);
  if (task.error) {
    out.put("error_class", std::string(name_of(task.error->error_class)));
    out.put("error_message", task.error->message);
  }
  if (task.progress) {
    out.put("percent", text_of(task.progress->percent));
    out.put("message", task.progress->message);
  }
  out.put_if_set("exit_code", task.exit_code);
  if (!record.lease.is_none()) out.put("lease", record.lease.to_string());
  out.put_if_set("ended_by", record.ended_by);
  out.put_flag("cascade", record.cascade_due);
}

// ---- reading

std::unexpected<Error> unreadable(std::string_view what, std::string_view value) {
  return fail(ErrorCode::kStoreDamaged, fmt::format("unreadable {}: {}", what, quoted_excerpt(value)), "redis.read");
}

// The fields of one record, each taken by its name.
class FieldReader {
 public:
  [[nodiscard]] Status add(std::span<const Reply> flat) {
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
      const auto name = flat[i].as_text();
      if (!name) return std::unexpected(name.error());
      if (const auto number = flat[i + 1].as_integer(); number && flat[i + 1].kind() == Reply::Kind::kInteger) {
        fields_.insert_or_assign(*name, std::to_string(*number));
        continue;
      }
      const auto value = flat[i + 1].as_text();
      if (!value) return std::unexpected(value.error());
      fields_.insert_or_assign(*name, std::string(*value));
    }
    return {};
  }
  void drop(std::string_view name) { fields_.erase(name); }

  [[nodiscard]] const std::string* find(std::string_view name) const {
    const auto found = fields_.find(name);
    return found != fields_.end() ? &found->second : nullptr;
  }

  // Leaves `to` as it is when the field is not there.
  template <class Integer>
  void number(std::string_view name, Integer& to) {
    const std::string* text = find(name);
    if (text == nullptr) return;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size()) return complain(name, *text);
    to = static_cast<Integer>(value);
  }
  void number(std::string_view name, Millis& to) {
    std::int64_t value = to.count();
    number(name, value);
    to = Millis(value);
  }
  void number(std::string_view name, Time& to) {
    std::int64_t value = to.time_since_epoch().count();
    number(name, value);
    to = Time(Millis(value));
  }
  template <class T>
  void number(std::string_view name, std::optional<T>& to) {
    if (find(name) == nullptr) return;
    number(name, to.emplace());
  }
  void text(std::string_view name, std::string& to) {
    if (const std::string* value = find(name)) to = *value;
  }
  void text(std::string_view name, std::optional<std::string>& to) {
    if (const std::string* value = find(name)) to = *value;
  }
  // `parse` answers with the value or nothing.
  template <class T, class Parse>
  void parsed(std::string_view name, T& to, Parse parse) {
    const std::string* value = find(name);
    if (value == nullptr) return;
    auto result = parse(*value);
    if (!result) return complain(name, *value);
    to = *std::move(result);
  }
  void flag(std::string_view name, bool& to) { to = find(name) != nullptr; }

  [[nodiscard]] const std::optional<Error>& complaint() const { return complaint_; }

 private:
  void complain(std::string_view name, std::string_view value) {
    if (!complaint_) complaint_ = unreadable(name, value).error();
  }

  std::unordered_map<std::string_view, std::string> fields_;
  std::optional<Error> complaint_;
};

Status read_lane(FieldReader& in, Task& task) {
  const std::string* lane = in.find("lane");
  if (lane == nullptr) return unreadable("record", "it has no lane");
  std::vector<std::string_view> parts;
  std::string_view rest = *lane;
  for (std::size_t bar = rest.find('|'); bar != std::string_view::npos; bar = rest.find('|')) {
    parts.push_back(rest.substr(0, bar));
    rest.remove_prefix(bar + 1);
  }
  if (parts.size() != 5 || parts[1].size() != 1) return unreadable("lane", *lane);
  task.queue = parts[0];
  task.priority = parts[1][0] - '0';
  task.owner = parts[2];
  task.type = parts[3];
  const auto [end, error] = std::from_chars(parts[4].data(), parts[4].data() + parts[4].size(), task.cost);
  if (error != std::errc{}) return unreadable("lane", *lane);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    task.gates.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return {};
}

void read_fixed(FieldReader& in, TaskRecord& record) {
  Task& task = record.task;
  in.number("created", task.created_at);
  in.parsed("parent_id", task.parent_id, TaskId::parse);
  in.text("request_id", task.request_id);
  in.text("request_hash", record.request_hash);
  in.text("dedupe_key", task.dedupe_key);
  in.parsed("dedupe", task.dedupe, parse_dedupe_mode);
  in.parsed("retry", task.retry, parse_retry_policy);
  in.parsed("on_parent_failure", task.on_parent_failure, parse_on_parent_failure);
  in.flag("at_most_once", task.at_most_once);
  in.number("depth", record.depth);
  in.number("deadline_span", record.deadline_span);
}

void read_counters(FieldReader& in, TaskRecord& record) {
  Task& task = record.task;
  in.number("rev", record.revision);
  in.number("beats", record.lease_beats);
  in.number("place", record.place);
  in.number("run", task.run);
  in.number("attempts", task.attempts);
  in.number("max_attempts", task.max_attempts);
  in.number("stalls", task.stalls);
  in.number("max_stalls", task.max_stalls);
  in.number("defers", task.defers);
  in.number("max_defers", task.max_defers);
  in.number("generation", task.generation);
  in.number("timeout", task.timeout);
  in.number("idle_timeout", task.idle_timeout);
  in.number("unmet_parents", record.unmet_parents);
  in.number("dependents", record.dependents);
  in.number("children", record.children);
}

void read_moving(FieldReader& in, TaskRecord& record) {
  Task& task = record.task;
  in.parsed("state", task.state, parse_task_state);
  in.number("run_at", task.run_at);
  in.number("started", task.started_at);
  in.number("finished", task.finished_at);
  in.number("deadline", task.deadline_at);
  in.text("worker", task.worker_id);
  in.number("cancel_requested_at", task.cancel_requested_at);
  in.text("cancel_reason", task.cancel_reason);
  in.flag("fallback", task.fallback);
  if (in.find("error_class") != nullptr) {
    TaskError& error = task.error.emplace();
    in.parsed("error_class", error.error_class, parse_error_class);
    in.text("error_message", error.message);
  }
  if (in.find("percent") != nullptr) {
    Progress& progress = task.progress.emplace();
    in.number("percent", progress.percent);
    in.text("message", progress.message);
  }
  in.number("exit_code", task.exit_code);
  in.parsed("lease", record.lease, LeaseId::parse);
  in.parsed("ended_by", record.ended_by, TaskId::parse);
  in.flag("cascade", record.cascade_due);
}

Result<TaskRecord> read_head(std::string_view id, FieldReader& in) {
  TaskRecord record;
  const auto parsed = TaskId::parse(id);
  if (!parsed) return unreadable("task id", id);
  record.task.id = *parsed;
  if (auto status = read_lane(in, record.task); !status) return std::unexpected(status.error());
  read_fixed(in, record);
  read_counters(in, record);
  read_moving(in, record);
  if (in.complaint()) return std::unexpected(*in.complaint());
  return record;
}

// ---- the body

std::optional<std::string_view> take_sized(std::string_view& rest, std::string_view size,
                                           std::optional<std::string>& to) {
  if (size == "-") return rest;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (error != std::errc{} || bytes > rest.size()) return std::nullopt;
  to = rest.substr(0, bytes);
  rest.remove_prefix(bytes);
  return rest;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

constexpr auto kTexts = std::to_array<std::pair<std::string_view, std::optional<std::string> Task::*>>({
    {"prompt", &Task::prompt},
    {"system_prompt", &Task::system_prompt},
    {"model", &Task::model},
    {"agent_id", &Task::agent_id},
    {"source", &Task::source},
    {"traceparent", &Task::traceparent},
});

Status read_texts(std::string_view json, Task& task) {
  if (json.empty()) return {};
  const auto value = json::parse(json);
  if (!value) return unreadable("body", json);
  for (const auto& [name, member] : kTexts) {
    const json::Value* found = value->find(name);
    const std::string* text = found != nullptr ? found->as_string() : nullptr;
    if (text != nullptr) task.*member = *text;
  }
  return {};
}

Status read_body(std::string_view body, Task& task) {
  const std::size_t line_end = body.find('\n');
  if (line_end == std::string_view::npos) return unreadable("body", body);
  std::vector<std::string_view> parts;
  std::string_view line = body.substr(0, line_end);
  for (int i = 0; i < 3; ++i) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) return unreadable("body", body);
    parts.push_back(line.substr(0, bar));
    line.remove_prefix(bar + 1);
  }
  task.tags = split(parts[0], ',');
  for (const std::string& text : split(parts[1], ',')) {
    const auto id = TaskId::parse(text);
    if (!id) return unreadable("parent", text);
    task.depends_on.push_back(*id);
  }
  std::string_view rest = body.substr(line_end + 1);
  if (!take_sized(rest, parts[2], task.payload) || !take_sized(rest, line, task.fallback_result)) {
    return unreadable("body", body);
  }
  return read_texts(rest, task);
}

// The parts after the fields, from the given element on.
Status read_parts(std::span<const Reply> parts, Task& task) {
  const auto body = parts[0].as_maybe_text();
  if (!body) return std::unexpected(body.error());
  if (!*body) return unreadable("record", "its body is gone");
  if (auto status = read_body(**body, task); !status) return status;
  for (const auto& [reply, to] : {std::pair{&parts[1], &task.result}, {&parts[2], &task.checkpoint}}) {
    const auto text = reply->as_maybe_text();
    if (!text) return std::unexpected(text.error());
    if (*text) *to = **text;
  }
  return {};
}

std::string size_text(const std::optional<std::string>& part) {
  return part ? std::to_string(part->size()) : "-";
}

}  // namespace

Fields to_fields(const TaskRecord& record) {
  FieldWriter out;
  put_moving(out, record);
  put_fixed(out, record);
  put_counters(out, record);
  return std::move(out).take();
}

std::string to_body(const Task& task) {
  std::string body = fmt::format("{}|", fmt::join(task.tags, ","));
  for (const TaskId& parent : task.depends_on) {
    if (body.back() != '|') body += ',';
    body += parent.to_string();
  }
  body += fmt::format("|{}|{}\n", size_text(task.payload), size_text(task.fallback_result));
  body += task.payload.value_or("");
  body += task.fallback_result.value_or("");
  json::Writer texts;
  bool any = false;
  texts.begin_object();
  for (const auto& [name, member] : kTexts) {
    if (!(task.*member)) continue;
    texts.key(name).string(*(task.*member));
    any = true;
  }
  texts.end_object();
  if (any) body += std::move(texts).take();
  return body;
}

Result<TaskRecord> to_record(const Reply& reply) {
  const auto parts = reply.as_array();
  if (!parts) return std::unexpected(parts.error());
  if (parts->size() != 1 && parts->size() != 4) return unreadable("record", "of another shape");
  const auto flat = (*parts)[0].as_array();
  if (!flat) return std::unexpected(flat.error());
  if (flat->empty()) return unreadable("record", "without an id");
  const auto id = flat->front().as_text();
  if (!id) return std::unexpected(id.error());
  FieldReader in;
  if (auto status = in.add(flat->subspan(1)); !status) return std::unexpected(status.error());
  auto record = read_head(*id, in);
  if (!record || parts->size() == 1) return record;
  if (auto status = read_parts(parts->subspan(1), record->task); !status) return std::unexpected(status.error());
  return record;
}

Result<TaskRecord> to_claimed_record(const Reply& reply) {
  const auto parts = reply.as_array_of(6);
  if (!parts) return std::unexpected(parts.error());
  const auto id = (*parts)[0].as_text();
  if (!id) return std::unexpected(id.error());
  FieldReader in;
  for (const Reply& flat : parts->subspan(1, 2)) {
    const auto fields = flat.as_array();
    if (!fields) return std::unexpected(fields.error());
    if (auto status = in.add(*fields); !status) return std::unexpected(status.error());
  }
  in.drop("percent");  // of an earlier run
  in.drop("beats");
  auto record = read_head(*id, in);
  if (!record) return record;
  if (auto status = read_parts(parts->subspan(3), record->task); !status) return std::unexpected(status.error());
  return record;
}

}  // namespace drover::redis
