#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_scanner.h"
#include "base/text.h"
#include "core/spec_check.h"
#include "core/task_json.h"

namespace drover {
namespace {

using json::Value;

std::unexpected<Error> expected(std::string_view what, const Value& value) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("expected {}, not {}", what, value.kind_name()));
}

// Puts what was read in its place, or hands on why it could not be read.
template <class T, class Target>
Status put(Result<T> read, Target& target) {
  if (!read) return std::unexpected(std::move(read.error()));
  target = std::move(*read);
  return {};
}

// ---- one value

Result<std::string> text_of(const Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  return expected("a string", value);
}

Result<bool> boolean_of(const Value& value) {
  if (const bool* boolean = value.as_bool()) return *boolean;
  return expected("true or false", value);
}

Result<std::int64_t> whole_number_of(const Value& value) {
  if (const auto number = value.as_int()) return *number;
  if (const Value::Number* number = value.as_number()) {
    return fail(ErrorCode::kInvalidArgument, "expected a whole number, not " + number->text);
  }
  return expected("a whole number", value);
}

// Bounded before it becomes an int, so that nothing wraps around.
Result<int> count_of(const Value& value, Bounds bounds) {
  const auto number = whole_number_of(value);
  if (!number) return std::unexpected(number.error());
  if (const auto status = check_bounds(*number, bounds); !status) return std::unexpected(status.error());
  return static_cast<int>(*number);
}

Result<int> priority_of(const Value& value) {
  if (const std::string* text = value.as_string()) return parse_priority(*text);
  return count_of(value, kPriorityBounds);
}

// Applies one of the parsers of task.h and time.h to a string.
template <class Parser>
auto parsed(const Value& value, Parser parser) -> decltype(parser(std::string_view{})) {
  const std::string* text = value.as_string();
  if (text == nullptr) return expected("a string", value);
  return parser(*text);
}

Result<Millis> millis_of(const Value& value) {
  const auto number = whole_number_of(value);
  if (!number) return std::unexpected(number.error());
  if (const auto status = check_bounds(*number, {0, kDurationMax.count()}); !status) {
    return std::unexpected(status.error());
  }
  return Millis{*number};
}

Result<TaskId> task_id_of(std::string_view text) {
  if (const auto id = TaskId::parse(text)) return *id;
  return fail(ErrorCode::kInvalidArgument, "expected a UUID, not " + quoted_excerpt(text));
}

Result<ParentRef> parent_of(std::string_view text) {
  if (text.starts_with('@')) return ParentRef{std::string(text.substr(1))};
  if (const auto id = TaskId::parse(text)) return ParentRef{*id};
  return fail(ErrorCode::kInvalidArgument,
              "expected a task id, or @ and a ref of this batch, not " + quoted_excerpt(text));
}

Result<OnParentFailure> on_parent_failure_of(std::string_view text) {
  if (const auto policy = parse_on_parent_failure(text)) return *policy;
  return fail(ErrorCode::kInvalidArgument, "expected cancel, fail or run, not " + quoted_excerpt(text));
}

Result<DedupeMode> dedupe_of(std::string_view text) {
  if (const auto mode = parse_dedupe_mode(text)) return *mode;
  return fail(ErrorCode::kInvalidArgument,
              "expected single_flight, drop, merge, replace or keep_latest, not " + quoted_excerpt(text));
}

template <class T, class Parser>
Result<std::vector<T>> list_of(const Value& value, Parser parser) {
  const Value::Array* items = value.as_array();
  if (items == nullptr) return expected("an array", value);
  std::vector<T> list;
  for (const Value& item : *items) {
    auto read = parsed(item, parser);
    if (!read) return std::unexpected(std::move(read.error()));
    list.push_back(std::move(*read));
  }
  return list;
}

Result<std::string> as_it_is(std::string_view text) {
  return std::string(text);
}

// "timeout" and "timeout_ms" are two ways to say one thing: saying it twice is a mistake.
Status put_duration(Result<Millis> read, std::optional<Millis>& target) {
  if (target) return fail(ErrorCode::kInvalidArgument, "given both as a duration and in milliseconds");
  return put(std::move(read), target);
}

// The members that are the value null, which is otherwise "unset".
Status put_null_values(TaskSpec& spec, const Value& value) {
  const auto names = list_of<std::string>(value, as_it_is);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (name == "payload") {
      spec.payload = "null";
    } else if (name == "fallback_result") {
      spec.fallback_result = "null";
    } else {
      return fail(ErrorCode::kInvalidArgument, "expected payload or fallback_result, not " + quoted_excerpt(name));
    }
  }
  return {};
}

// ---- the fields

struct Field {
  std::string_view name;
  Status (*read)(TaskSpec&, const Value&);
};

constexpr auto kFields = std::to_array<Field>({
    {"id", [](TaskSpec& s, const Value& v) { return put(parsed(v, task_id_of), s.id); }},
    {"ref", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.ref); }},
    {"type", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.type); }},
    {"queue", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.queue); }},
    {"owner", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.owner); }},
    {"priority", [](TaskSpec& s, const Value& v) { return put(priority_of(v), s.priority); }},
    {"payload", [](TaskSpec& s, const Value& v) { return put(Result<JsonText>(json::dump(v)), s.payload); }},
    {"prompt", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.prompt); }},
    {"system_prompt", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.system_prompt); }},
    {"model", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.model); }},
    {"agent_id", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.agent_id); }},
    {"source", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.source); }},
    {"traceparent", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.traceparent); }},
    {"tags", [](TaskSpec& s, const Value& v) { return put(list_of<std::string>(v, as_it_is), s.tags); }},
    {"parent_id", [](TaskSpec& s, const Value& v) { return put(parsed(v, task_id_of), s.parent_id); }},
    {"depends_on", [](TaskSpec& s, const Value& v) { return put(list_of<ParentRef>(v, parent_of), s.depends_on); }},
    {"request_id", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.request_id); }},
    {"dedupe_key", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.dedupe_key); }},
    {"dedupe", [](TaskSpec& s, const Value& v) { return put(parsed(v, dedupe_of), s.dedupe); }},
    {"dedupe_window",
     [](TaskSpec& s, const Value& v) { return put_duration(parsed(v, parse_duration), s.dedupe_window); }},
    {"dedupe_window_ms", [](TaskSpec& s, const Value& v) { return put_duration(millis_of(v), s.dedupe_window); }},
    {"locks", [](TaskSpec& s, const Value& v) { return put(list_of<std::string>(v, as_it_is), s.locks); }},
    {"cost", [](TaskSpec& s, const Value& v) { return put(whole_number_of(v), s.cost); }},
    {"delay", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_duration), s.delay); }},
    {"run_at", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_time), s.run_at); }},
    {"deadline", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_duration), s.deadline); }},
    {"deadline_at", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_time), s.deadline_at); }},
    {"max_attempts", [](TaskSpec& s, const Value& v) { return put(count_of(v, kMaxAttemptsBounds), s.max_attempts); }},
    {"max_stalls", [](TaskSpec& s, const Value& v) { return put(count_of(v, kMaxStallsBounds), s.max_stalls); }},
    {"max_defers", [](TaskSpec& s, const Value& v) { return put(count_of(v, kMaxDefersBounds), s.max_defers); }},
    {"retry", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_retry_policy), s.retry); }},
    {"timeout", [](TaskSpec& s, const Value& v) { return put_duration(parsed(v, parse_duration), s.timeout); }},
    {"timeout_ms", [](TaskSpec& s, const Value& v) { return put_duration(millis_of(v), s.timeout); }},
    {"idle_timeout",
     [](TaskSpec& s, const Value& v) { return put_duration(parsed(v, parse_duration), s.idle_timeout); }},
    {"idle_timeout_ms", [](TaskSpec& s, const Value& v) { return put_duration(millis_of(v), s.idle_timeout); }},
    {"on_parent_failure",
     [](TaskSpec& s, const Value& v) { return put(parsed(v, on_parent_failure_of), s.on_parent_failure); }},
    {"at_most_once", [](TaskSpec& s, const Value& v) { return put(boolean_of(v), s.at_most_once); }},
    {"fallback_result",
     [](TaskSpec& s, const Value& v) { return put(Result<JsonText>(json::dump(v)), s.fallback_result); }},
    {"null_values", put_null_values},
});

std::unexpected<Error> unknown_field(std::string_view name) {
  std::array<std::string_view, kFields.size()> known;
  std::ranges::transform(kFields, known.begin(), &Field::name);
  const std::string_view near = closest_word(name, known);
  std::string message = "unknown field " + quoted_excerpt(name);
  if (!near.empty()) message += fmt::format(" (did you mean \"{}\"?)", near);
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status read_member(TaskSpec& spec, const Value::Member& member) {
  const auto& [name, value] = member;
  const auto field = std::ranges::find(kFields, name, &Field::name);
  if (field == kFields.end()) return unknown_field(name);
  // As in the task's own shape: null is unset.
  if (value.is_null()) return {};
  auto status = field->read(spec, value);
  if (!status) return at_field(name, std::move(status.error()));
  return {};
}

// A member's value as it stands in `text`, an object that json::parse took, without white space outside strings.
std::string member_text(std::string_view text, std::string_view key) {
  json::Scanner scanner(text, json::kEnvelopeDepthMax);
  json::Token token;
  std::string value;
  bool wanted = false;
  int depth = 0;
  while (scanner.next(token)) {
    using enum json::TokenKind;
    if (token.kind == kEndObject || token.kind == kEndArray) --depth;
    const bool between_members = depth == 1 && (token.kind == kComma || token.kind == kColon);
    if (depth == 1 && token.kind == kKey) {
      wanted = json::unescape(token) == key;
    } else if (wanted && depth > 0 && !between_members) {
      value += token.raw;
    }
    if (token.kind == kBeginObject || token.kind == kBeginArray) ++depth;
  }
  return value;
}

}  // namespace

Result<TaskSpec> parse_task_spec(const json::Value& object) {
  const Value::Object* members = object.as_object();
  if (members == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("a task must be an object, not {}", object.kind_phrase()));
  TaskSpec spec;
  for (const Value::Member& member : *members) {
    if (auto status = read_member(spec, member); !status) return std::unexpected(std::move(status.error()));
  }
  if (auto status = check_spec(spec); !status) return std::unexpected(std::move(status.error()));
  return spec;
}

Result<TaskSpec> parse_task_spec(std::string_view text) {
  const auto value = json::parse(text, json::kEnvelopeDepthMax);
  if (!value) return std::unexpected(value.error());
  auto spec = parse_task_spec(*value);
  if (!spec) return spec;
  // A parsed value keeps numbers and order, but not how a string was escaped.
  const auto keep_text = [&](std::string_view name, std::optional<JsonText>& target) {
    const Value* given = value->find(name);
    if (given != nullptr && !given->is_null()) target = member_text(text, name);
  };
  keep_text("payload", spec->payload);
  keep_text("fallback_result", spec->fallback_result);
  return spec;
}

}  // namespace drover
