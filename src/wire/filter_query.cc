#include "wire/filter_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace drover {
namespace {

template <class T, class Parse>
Status put(std::optional<T>& out, const std::string& text, std::string_view what, Parse parse) {
  auto value = parse(text);
  if (!value) return fail(ErrorCode::kInvalidArgument, fmt::format("expected {}, not {}", what, quoted_excerpt(text)));
  out = *std::move(value);
  return {};
}

// `what` in the singular and in the plural.
template <class Enum, std::size_t kCount>
std::unexpected<Error> unknown(std::string_view what, std::string_view all, std::string_view name) {
  std::array<std::string_view, kCount> known;
  for (std::size_t i = 0; i < kCount; ++i) known[i] = name_of(static_cast<Enum>(i));
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unknown {} {}; the {} are {}", what, quoted_excerpt(name), all, fmt::join(known, ", ")));
}

Status put_class(TaskFilter& filter, const std::string& name) {
  filter.error_class = parse_error_class(name);
  if (!filter.error_class) return unknown<ErrorClass, kErrorClassCount>("error class", "classes", name);
  return {};
}

Status put_states(TaskFilter& filter, std::string_view text) {
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    const auto state = parse_task_state(name);
    if (!state) return unknown<TaskState, kTaskStateCount>("state", "states", name);
    filter.states.push_back(*state);
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (text != "true" && text != "false") return std::nullopt;
  return text == "true";
}

struct Field {
  std::string_view name;
  Status (*read)(TaskFilter&, const std::string&);
};

Status as_it_is(std::optional<std::string>& out, const std::string& text) {
  out = text;
  return {};
}

constexpr auto kFields = std::to_array<Field>({
    {"type", [](TaskFilter& f, const std::string& v) { return as_it_is(f.type, v); }},
    {"queue", [](TaskFilter& f, const std::string& v) { return as_it_is(f.queue, v); }},
    {"owner", [](TaskFilter& f, const std::string& v) { return as_it_is(f.owner, v); }},
    {"state", [](TaskFilter& f, const std::string& v) { return put_states(f, v); }},
    {"tag", [](TaskFilter& f, const std::string& v) { return as_it_is(f.tag, v); }},
    {"spawner", [](TaskFilter& f, const std::string& v) { return put(f.parent_id, v, "a UUID", TaskId::parse); }},
    {"class", [](TaskFilter& f, const std::string& v) { return put_class(f, v); }},
    {"fingerprint", [](TaskFilter& f, const std::string& v) { return as_it_is(f.fingerprint, v); }},
    {"worker", [](TaskFilter& f, const std::string& v) { return as_it_is(f.worker_id, v); }},
    {"since",
     [](TaskFilter& f, const std::string& v) { return put(f.created_since, v, "a time (RFC 3339)", parse_time); }},
    {"until",
     [](TaskFilter& f, const std::string& v) { return put(f.created_until, v, "a time (RFC 3339)", parse_time); }},
    {"search", [](TaskFilter& f, const std::string& v) { return as_it_is(f.search, v); }},
    {"id", [](TaskFilter& f, const std::string& v) { return as_it_is(f.id_prefix, v); }},
    {"finished_before",
     [](TaskFilter& f, const std::string& v) { return put(f.finished_before, v, "a time (RFC 3339)", parse_time); }},
    {"escalated",
     [](TaskFilter& f, const std::string& v) { return put(f.escalated, v, "true or false", parse_boolean); }},
});

}  // namespace

Result<TaskFilter> filter_of_query(const std::vector<std::pair<std::string, std::string>>& query,
                                   std::initializer_list<std::string_view> others) {
  TaskFilter filter;
  for (const auto& [name, value] : query) {
    if (std::ranges::find(others, name) != others.end()) continue;
    const auto field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end()) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("unknown parameter {}", quoted_excerpt(name)));
    }
    if (Status read = field->read(filter, value); !read) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, read.error().message));
    }
  }
  return filter;
}

std::vector<std::pair<std::string, std::string>> query_of_filter(const TaskFilter& filter) {
  std::vector<std::pair<std::string, std::string>> query;
  const auto put_text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) query.emplace_back(name, *value);
  };
  put_text("type", filter.type);
  put_text("queue", filter.queue);
  put_text("owner", filter.owner);
  for (const TaskState state : filter.states) query.emplace_back("state", name_of(state));
  put_text("tag", filter.tag);
  if (filter.parent_id) query.emplace_back("spawner", filter.parent_id->to_string());
  if (filter.error_class) query.emplace_back("class", name_of(*filter.error_class));
  put_text("fingerprint", filter.fingerprint);
  put_text("worker", filter.worker_id);
  if (filter.created_since) query.emplace_back("since", format_time(*filter.created_since));
  if (filter.created_until) query.emplace_back("until", format_time(*filter.created_until));
  put_text("search", filter.search);
  put_text("id", filter.id_prefix);
  if (filter.finished_before) query.emplace_back("finished_before", format_time(*filter.finished_before));
  if (filter.escalated) query.emplace_back("escalated", *filter.escalated ? "true" : "false");
  return query;
}

}  // namespace drover
