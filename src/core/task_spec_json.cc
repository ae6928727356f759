#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/json_scanner.h"
#include "base/text.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "core/task_fields.h"
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
  const auto number = TRY(whole_number_of(value));
  TRY(check_bounds(number, bounds));
  return static_cast<int>(number);
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
  const auto number = TRY(whole_number_of(value));
  TRY(check_bounds(number, {0, kDurationMax.count()}));
  return Millis{number};
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

Result<BusyRule> busy_of(std::string_view text) {
  if (const auto rule = parse_busy_rule(text)) return *rule;
  return fail(ErrorCode::kInvalidArgument, "expected enqueue, reject or interrupt, not " + quoted_excerpt(text));
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

// ---- the fields: each type's own way to be read

template <class T>
using Of = std::type_identity<T>;

Result<std::string> read_as(Of<std::string>, const Value& value, Bounds /*bounds*/) {
  return text_of(value);
}
Result<bool> read_as(Of<bool>, const Value& value, Bounds /*bounds*/) {
  return boolean_of(value);
}
Result<int> read_as(Of<int>, const Value& value, Bounds bounds) {
  return count_of(value, bounds);
}
Result<std::int64_t> read_as(Of<std::int64_t>, const Value& value, Bounds /*bounds*/) {
  return whole_number_of(value);
}
Result<Time> read_as(Of<Time>, const Value& value, Bounds /*bounds*/) {
  return parsed(value, parse_time);
}
Result<TaskId> read_as(Of<TaskId>, const Value& value, Bounds /*bounds*/) {
  return parsed(value, task_id_of);
}
Result<RetryPolicy> read_as(Of<RetryPolicy>, const Value& value, Bounds /*bounds*/) {
  return parsed(value, parse_retry_policy);
}
Result<OnParentFailure> read_as(Of<OnParentFailure>, const Value& value, Bounds /*bounds*/) {
  return parsed(value, on_parent_failure_of);
}
Result<DedupeMode> read_as(Of<DedupeMode>, const Value& value, Bounds /*bounds*/) {
  return parsed(value, dedupe_of);
}
Result<std::vector<std::string>> read_as(Of<std::vector<std::string>>, const Value& value, Bounds /*bounds*/) {
  return list_of<std::string>(value, as_it_is);
}
Result<std::vector<ParentRef>> read_as(Of<std::vector<ParentRef>>, const Value& value, Bounds /*bounds*/) {
  return list_of<ParentRef>(value, parent_of);
}

template <class T>
struct Bare {
  using Type = T;
};
template <class T>
struct Bare<std::optional<T>> {
  using Type = T;
};
template <class Field>
using Asked = Bare<std::remove_cvref_t<decltype(Field::asked(std::declval<TaskSpec&>()))>>::Type;

template <class Field>
Status read_field(TaskSpec& spec, const Value& value) {
  auto& target = Field::asked(spec);
  if constexpr (Field::kIs.kind == FieldKind::kJson) {
    return put(Result<JsonText>(json::dump(value)), target);
  } else if constexpr (Field::template is<&Task::priority>()) {
    return put(priority_of(value), target);
  } else if constexpr (std::is_same_v<Asked<Field>, Millis>) {
    return put_duration(millis_of(value), target);
  } else {
    return put(read_as(Of<Asked<Field>>(), value, Field::kIs.bounds), target);
  }
}
template <class Field>
Status read_duration(TaskSpec& spec, const Value& value) {
  return put_duration(parsed(value, parse_duration), Field::asked(spec));
}

// The members that are the value null, which is otherwise "unset".
Status put_null_values(TaskSpec& spec, const Value& value) {
  const auto names = TRY(list_of<std::string>(value, as_it_is));
  for (const std::string& name : names) {
    bool known = false;
    std::string expected;
    visit_task_fields([&](auto field) {
      if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kJson) {
        expected.append(expected.empty() ? "" : " or ").append(field.name());
        if (name != field.name()) return;
        field.asked(spec) = "null";
        known = true;
      }
    });
    if (known) continue;
    return fail(ErrorCode::kInvalidArgument, fmt::format("expected {}, not {}", expected, quoted_excerpt(name)));
  }
  return {};
}

struct Member {
  std::string_view name;
  Status (*read)(TaskSpec&, const Value&);
};

// What a caller may say of a task, but does not stand in the task itself.
constexpr auto kAskedOnly = std::to_array<Member>({
    {"dedupe_window",
     [](TaskSpec& s, const Value& v) { return put_duration(parsed(v, parse_duration), s.dedupe_window); }},
    {"dedupe_window_ms", [](TaskSpec& s, const Value& v) { return put_duration(millis_of(v), s.dedupe_window); }},
    {"locks", [](TaskSpec& s, const Value& v) { return put(list_of<std::string>(v, as_it_is), s.locks); }},
    {"session", [](TaskSpec& s, const Value& v) { return put(text_of(v), s.session); }},
    {"busy", [](TaskSpec& s, const Value& v) { return put(parsed(v, busy_of), s.busy); }},
    {"delay", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_duration), s.delay); }},
    {"deadline", [](TaskSpec& s, const Value& v) { return put(parsed(v, parse_duration), s.deadline); }},
    {"null_values", put_null_values},
});

// A field in milliseconds may be given as a duration, too: "timeout_ms" or "timeout".
const std::vector<Member>& members() {
  static const std::vector<Member> kAll = [] {
    std::vector<Member> found(kAskedOnly.begin(), kAskedOnly.end());
    visit_task_fields([&](auto field) {
      using Field = decltype(field);
      if constexpr (field.kIsAsked) {
        found.push_back({field.name(), read_field<Field>});
        if constexpr (std::is_same_v<Asked<Field>, Millis>) {
          found.push_back({without_unit(field.name()), read_duration<Field>});
        }
      }
    });
    return found;
  }();
  return kAll;
}

std::unexpected<Error> unknown_field(std::string_view name) {
  std::vector<std::string_view> known;
  std::ranges::transform(members(), std::back_inserter(known), &Member::name);
  const std::string_view near = closest_word(name, known);
  std::string message = "unknown field " + quoted_excerpt(name);
  if (!near.empty()) message += fmt::format(" (did you mean \"{}\"?)", near);
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status read_member(TaskSpec& spec, const Value::Member& member) {
  const auto& [name, value] = member;
  const auto found = std::ranges::find(members(), name, &Member::name);
  if (found == members().end()) return unknown_field(name);
  // As in the task's own shape: null is unset.
  if (value.is_null()) return {};
  auto status = found->read(spec, value);
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
  const auto value = TRY(json::parse(text, json::kEnvelopeDepthMax));
  auto spec = parse_task_spec(value);
  if (!spec) return spec;
  // A parsed value keeps numbers and order, but not how a string was escaped.
  visit_task_fields([&](auto field) {
    if constexpr (field.kIsAsked && field.kIs.kind == FieldKind::kJson) {
      const Value* given = value.find(field.name());
      if (given != nullptr && !given->is_null()) field.asked(*spec) = member_text(text, field.name());
    }
  });
  return spec;
}

}  // namespace drover
