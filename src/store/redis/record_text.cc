#include "store/redis/record_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/compact_json.h"
#include "core/lane.h"
#include "core/task_fields.h"

namespace drover::redis {
namespace {

constexpr std::string_view kNone = "~";  // no name holds it

// Which fields stand in the words of the first line or in its lane, where the functions look for them.
template <class Field>
constexpr bool is_word(Field field) {
  return field
      .template is<&Task::id, &Task::type, &Task::queue, &Task::owner, &Task::priority, &Task::cost, &Task::gates,
                   &Task::state, &Task::run, &Task::attempts, &Task::started_at, &Task::worker_id, &Task::generation,
                   &Task::deadline_at, &Task::cancel_requested_at, &TaskRecord::revision, &TaskRecord::place,
                   &TaskRecord::lease, &TaskRecord::lease_beats, &TaskRecord::cascade_due>();
}
// Progress has a key of its own; every other field of a head stands in the JSON behind the words, unless it is at its
// default.
template <class Field>
constexpr bool is_in_rest(Field field) {
  return !field.kIs.is_large() && !is_word(field) && !field.template is<&Task::progress>();
}
// The body's texts, except payload and fallback, which come before them as they are.
template <class Field>
constexpr bool is_body_text(Field field) {
  const bool is_before = field.template is<&Task::payload, &Task::fallback_result>();
  const bool is_json = field.kIs.kind == FieldKind::kJson && field.kIs.kept == FieldKept::kBody && !is_before;
  return field.kIs.kind == FieldKind::kText || field.kIs.kind == FieldKind::kLabel || is_json;
}

// ---- writing

void put_word(std::string& out, std::int64_t number) {
  fmt::format_to(std::back_inserter(out), " {}", number);
}
void put_word(std::string& out, std::string_view text) {
  out.append(" ").append(text.empty() ? kNone : text);
}
void put_word(std::string& out, std::optional<Time> time) {
  if (time) return put_word(out, time->time_since_epoch().count());
  put_word(out, kNone);
}

void put_value(json::Writer& out, const auto& value) {
  compact::write(out, value);
}
template <class T>
void put_value(json::Writer& out, const std::optional<T>& value) {
  if (value) compact::write(out, *value);
}

std::string rest_of(const TaskRecord& record) {
  static const TaskRecord kUsual;
  json::Writer out;
  out.begin_object();
  visit_task_fields([&](auto field) {
    if constexpr (is_in_rest(field)) {
      if (field.of(record) != field.of(kUsual)) put_value(out.key(field.name()), field.of(record));
    }
  });
  return std::move(out.end_object()).take();
}

std::string size_text(const std::optional<std::string>& part) {
  return part ? std::to_string(part->size()) : "-";
}

// ---- reading

std::unexpected<Error> unreadable(std::string_view what, std::string_view value) {
  return fail(ErrorCode::kStoreDamaged, fmt::format("unreadable {}: {}", what, quoted_excerpt(value)), "redis.read");
}

// What stands before the next separator; the text goes on behind it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// The words and members of one record. The first one that cannot be read is kept as the complaint.
class RecordReader {
 public:
  RecordReader(std::string_view words, const json::Value& rest) : words_(words), rest_(rest) {}

  // ---- the first line, word by word

  template <class Integer>
  void word(std::string_view name, Integer& to) {
    const std::string_view text = take_until(words_, ' ');
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return complain(name, text);
    to = static_cast<Integer>(value);
  }
  void word(std::string_view name, std::optional<Time>& to) {
    if (words_.starts_with(kNone)) return skip();
    std::int64_t value = 0;
    word(name, value);
    to = Time(Millis(value));
  }
  void word(std::string_view /*name*/, std::optional<std::string>& to) {
    const std::string_view text = take_until(words_, ' ');
    if (text != kNone) to = text;
  }
  template <class T, class Parse>
  void parsed_word(std::string_view name, T& to, Parse parse) {
    const std::string_view text = take_until(words_, ' ');
    if (text == kNone) return;
    auto value = parse(text);
    if (!value) return complain(name, text);
    to = *std::move(value);
  }
  void skip() { take_until(words_, ' '); }

  // ---- the rest, by name; what is not there leaves `to` as it is

  template <class T>
  void member(std::string_view name, T& to) {
    const json::Value* value = rest_.find(name);
    if (value != nullptr && !compact::read(*value, to)) complain(name, json::dump(*value));
  }

  [[nodiscard]] const std::optional<Error>& complaint() const { return complaint_; }

 private:
  void complain(std::string_view name, std::string_view value) {
    if (!complaint_) complaint_ = unreadable(name, value).error();
  }

  std::string_view words_;
  const json::Value& rest_;
  std::optional<Error> complaint_;
};

Status read_lane(std::string_view lane, Task& task) {
  std::string_view rest = lane;
  task.queue = take_until(rest, '|');
  const std::string_view rank = take_until(rest, '|');
  task.owner = take_until(rest, '|');
  task.type = take_until(rest, '|');
  const std::string_view cost = take_until(rest, '|');
  const auto [end, error] = std::from_chars(cost.data(), cost.data() + cost.size(), task.cost);
  if (rank.size() != 1 || error != std::errc{} || end != cost.data() + cost.size()) return unreadable("lane", lane);
  task.priority = rank[0] - '0';
  while (!rest.empty()) task.gates.emplace_back(take_until(rest, ','));
  return {};
}

// In the order in which the functions and to_said() write them.
void read_words(RecordReader& in, TaskRecord& record) {
  Task& task = record.task;
  in.word("rev", record.revision);
  in.skip();  // seq
  in.word("place", record.place);
  in.skip();  // bytes
  in.skip();  // renewed
  in.word("beats", record.lease_beats);
  in.skip();  // marks
  in.parsed_word("state", task.state, parse_task_state);
  in.word("run", task.run);
  in.word("attempts", task.attempts);
  in.word("started", task.started_at);
  in.parsed_word("lease", record.lease, LeaseId::parse);
  in.word("worker", task.worker_id);
  in.word("generation", task.generation);
  in.word("deadline", task.deadline_at);
  in.word("cancel", task.cancel_requested_at);
  in.word("cascade", record.cascade_due);
}

void read_rest(RecordReader& in, TaskRecord& record) {
  visit_task_fields([&](auto field) {
    if constexpr (is_in_rest(field)) in.member(field.name(), field.of(record));
  });
}

Result<TaskRecord> read_head(std::string_view id, std::string_view text) {
  TaskRecord record;
  const auto parsed = TaskId::parse(id);
  if (!parsed) return unreadable("task id", id);
  record.task.id = *parsed;
  std::string_view words = take_until(text, '\n');
  const std::size_t lane = words.rfind(' ') + 1;
  TRY(read_lane(words.substr(lane), record.task));
  words = words.substr(0, lane);
  const std::string_view json = take_until(text, '\n');
  const auto rest = json::parse(json);
  if (!rest) return unreadable("record", json);
  RecordReader in(words, *rest);
  read_words(in, record);
  read_rest(in, record);
  if (const std::optional<Error> complaint = in.complaint()) return std::unexpected(*complaint);
  take_until(text, '\n');  // the last ended run
  if (!text.empty()) record.task.result = text;
  return record;
}

// Up to the worker; the text goes on behind it.
RecordHead read_head_words(std::string_view& text) {
  std::array<std::string_view, 13> words;
  for (std::string_view& word : words) word = take_until(text, ' ');
  RecordHead head{.seq = words[1], .place = words[2], .marks = words[6], .started = words[10], .worker = words[12]};
  std::from_chars(words[3].data(), words[3].data() + words[3].size(), head.bytes);
  return head;
}

Status read_progress(std::string_view text, Task& task) {
  Progress& progress = task.progress.emplace();
  const std::string_view percent = take_until(text, ' ');
  const auto [end, error] = std::from_chars(percent.data(), percent.data() + percent.size(), progress.percent);
  if (error != std::errc{} || end != percent.data() + percent.size()) return unreadable("progress", percent);
  progress.message = text;
  return {};
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

Status read_texts(std::string_view json, Task& task) {
  if (json.empty()) return {};
  const auto value = json::parse(json);
  if (!value) return unreadable("body", json);
  visit_task_fields([&](auto field) {
    if constexpr (is_body_text(field)) {
      const json::Value* found = value->find(field.name());
      const std::string* text = found != nullptr ? found->as_string() : nullptr;
      if (text != nullptr) field.of(task) = *text;
    }
  });
  return {};
}

// Labels first: a summary reads the beginning only.
std::string texts_of(const Task& task) {
  json::Writer texts;
  bool any = false;
  texts.begin_object();
  const auto put = [&]<FieldKind Kind>(std::integral_constant<FieldKind, Kind>) {
    visit_task_fields([&](auto field) {
      if constexpr (is_body_text(field) && field.kIs.kind == Kind) {
        const std::optional<std::string>& text = field.of(task);
        if (!text) return;
        texts.key(field.name()).string(*text);
        any = true;
      }
    });
  };
  put(std::integral_constant<FieldKind, FieldKind::kLabel>());
  put(std::integral_constant<FieldKind, FieldKind::kText>());
  put(std::integral_constant<FieldKind, FieldKind::kJson>());
  texts.end_object();
  return any ? std::move(texts).take() : std::string();
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

// Tags, model, agent_id, and how prompt and payload begin.
Status read_summary(const Reply& reply, Task& task) {
  const auto parts = TRY(reply.as_array_of(5));
  const auto tags = TRY(parts[0].as_text());
  task.tags = split(tags, ',');
  for (const auto& [reply_part, to] : {std::pair{&parts[1], &task.model},
                                       {&parts[2], &task.agent_id},
                                       {&parts[3], &task.prompt},
                                       {&parts[4], &task.payload}}) {
    const std::optional<std::string_view> text = TRY(reply_part->as_maybe_text());
    if (text) *to = *text;
  }
  return {};
}

// Body, result and checkpoint.
Status read_parts(std::span<const Reply> parts, Task& task) {
  const std::optional<std::string_view> body = TRY(parts[0].as_maybe_text());
  if (!body) return unreadable("record", "its body is gone");
  TRY(read_body(*body, task));
  for (const auto& [reply, to] : {std::pair{&parts[1], &task.result}, {&parts[2], &task.checkpoint}}) {
    const auto text = TRY(reply->as_maybe_text());
    if (const std::optional<std::string_view> part = text) *to = *part;
  }
  return {};
}

}  // namespace

std::string to_said(const TaskRecord& record, const std::string& lane) {
  const Task& task = record.task;
  std::string text(name_of(task.state));
  put_word(text, task.run);
  put_word(text, task.attempts);
  put_word(text, task.started_at);
  put_word(text, record.lease.is_none() ? "" : record.lease.to_string());
  put_word(text, task.worker_id.value_or(""));
  put_word(text, task.generation);
  put_word(text, task.deadline_at);
  put_word(text, task.cancel_requested_at);
  put_word(text, record.cascade_due ? 1 : 0);
  text.append(" ").append(lane).append("\n");
  return text + rest_of(record);
}

KeptAs kept_as(std::string_view record_text) {
  std::string_view rest = record_text;
  const RecordHead head = read_head_words(rest);
  if (head.marks != kNone) return {};
  return {.head = std::string(record_text.substr(0, record_text.size() - rest.size()))};
}

RecordHead head_of(const KeptAs& kept) {
  std::string_view rest = kept.head;
  return read_head_words(rest);
}

std::string to_text(const Progress& progress) {
  return fmt::format("{} {}", progress.percent, progress.message);
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
  return body + texts_of(task);
}

Result<TaskRecord> to_record(const Reply& reply) {
  const auto parts = TRY(reply.as_array());
  return to_record(parts);
}

Result<TaskRecord> to_record(std::span<const Reply> parts) {
  constexpr std::size_t kHeadParts = 3;
  constexpr std::size_t kSummaryParts = 4;
  if (parts.size() != kHeadParts && parts.size() != kSummaryParts && parts.size() != kRecordParts) {
    return unreadable("record", "of another shape");
  }
  const auto id = parts[0].as_text();
  const auto text = parts[1].as_text();
  const auto progress = parts[2].as_maybe_text();
  if (!id || !text || !progress) return unreadable("record", "of another shape");
  auto record = read_head(*id, *text);
  if (!record) return record;
  if (const std::optional<std::string_view> said = *progress) {
    TRY(read_progress(*said, record->task));
  }
  if (parts.size() == kHeadParts) return record;
  if (parts.size() == kSummaryParts) {
    TRY(read_summary(parts[kHeadParts], record->task));
    return record;
  }
  TRY(read_parts(parts.subspan(kHeadParts), record->task));
  return record;
}

}  // namespace drover::redis
