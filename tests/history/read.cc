#include "history/read.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace drover::history {
namespace {

std::unexpected<Error> unreadable(std::string_view what, std::string_view text) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what, quoted_excerpt(text)));
}

// The fields of one object. Missing or wrong ones are remembered, and told once at the end.
class Fields {
 public:
  explicit Fields(const json::Value& object) : object_(object) {}

  std::string text(std::string_view key) {
    const json::Value* value = object_.find(key);
    if (value != nullptr && value->as_string() != nullptr) return *value->as_string();
    return complain(key);
  }
  int number(std::string_view key) { return static_cast<int>(number64(key)); }
  std::int64_t number64(std::string_view key) {
    const json::Value* value = object_.find(key);
    if (value != nullptr && value->as_int()) return *value->as_int();
    complain(key);
    return 0;
  }
  bool boolean(std::string_view key) {
    const json::Value* value = object_.find(key);
    if (value != nullptr && value->as_bool() != nullptr) return *value->as_bool();
    complain(key);
    return false;
  }
  TaskId id(std::string_view key) {
    if (const auto parsed = TaskId::parse(text(key))) return *parsed;
    complain(key);
    return {};
  }
  std::optional<TaskId> id_or_null(std::string_view key) {
    const json::Value* value = object_.find(key);
    if (value != nullptr && value->is_null()) return std::nullopt;
    return id(key);
  }
  TaskState state(std::string_view key) {
    if (const auto parsed = parse_task_state(text(key))) return *parsed;
    complain(key);
    return TaskState::kPending;
  }
  [[nodiscard]] Status status() const {
    if (bad_.empty()) return {};
    return unreadable(fmt::format("no usable {} in", bad_), json::dump(object_));
  }

 private:
  std::string complain(std::string_view key) {
    if (bad_.empty()) bad_ = key;
    return {};
  }

  const json::Value& object_;
  std::string bad_;  // the first field that was not there
};

std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<Sighting> read_sighting(std::string_view line) {
  std::array<std::string_view, 5> words;
  std::string_view rest = line;
  for (std::string_view& word : words) {
    word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  const auto& [task, run, kind, pid, at] = words;
  Sighting sighting;
  std::int64_t at_ms = 0;
  const auto id = TaskId::parse(task);
  const bool known_kind = kind == "start" || kind == "stop";
  if (!id || !known_kind || !rest.empty() || !read_number(run, sighting.run) || !read_number(pid, sighting.pid) ||
      !read_number(at, at_ms)) {
    return unreadable("not a line of a witness", line);
  }
  sighting.task = *id;
  sighting.kind = kind == "start" ? Sighting::Kind::kStart : Sighting::Kind::kStop;
  sighting.at = MonoTime{Millis{at_ms}};
  return sighting;
}

}  // namespace

Result<std::vector<FinalTask>> read_tasks(std::string_view json_array) {
  const auto document = json::parse(json_array);
  if (!document) return std::unexpected(document.error());
  if (document->as_array() == nullptr) return unreadable("not an array of tasks", json_array);
  std::vector<FinalTask> tasks;
  tasks.reserve(document->as_array()->size());
  for (const json::Value& object : *document->as_array()) {
    Fields fields(object);
    tasks.push_back({.id = fields.id("id"),
                     .state = fields.state("state"),
                     .run = fields.number("run"),
                     .generation = fields.number("generation"),
                     .fallback = fields.boolean("fallback"),
                     .parent_id = fields.id_or_null("parent_id")});
    if (auto status = fields.status(); !status) return std::unexpected(status.error());
  }
  return tasks;
}

Result<std::vector<LoggedEvent>> read_events(std::string_view ndjson) {
  std::vector<LoggedEvent> events;
  for (const std::string_view line : whole_lines(ndjson)) {
    const auto object = json::parse(line);
    if (!object) return std::unexpected(object.error());
    Fields fields(*object);
    LoggedEvent event{.seq = fields.number64("seq"), .name = fields.text("name")};
    if (const auto task = fields.id_or_null("task_id")) {
      event.task = *task;
      event.state = fields.state("state");
      event.run = fields.number("run");
      event.generation = fields.number("generation");
    }
    events.push_back(std::move(event));
    if (auto status = fields.status(); !status) return std::unexpected(status.error());
  }
  return events;
}

Result<std::vector<Sighting>> read_witness(std::string_view lines) {
  std::vector<Sighting> sightings;
  for (const std::string_view line : whole_lines(lines)) {
    auto sighting = read_sighting(line);
    if (!sighting) return std::unexpected(sighting.error());
    sightings.push_back(*sighting);
  }
  return sightings;
}

}  // namespace drover::history
