#include "core/filter_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {
namespace {

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

// ---- values

template <class T, class Parse>
Status put(std::optional<T>& out, const std::string& text, std::string_view what, Parse parse) {
  if (out) return refuse("it is given twice");
  auto value = parse(text);
  if (!value) return refuse(fmt::format("expected {}, not {}", what, quoted_excerpt(text)));
  out = *std::move(value);
  return {};
}

Status put_text(std::optional<std::string>& out, const std::string& text) {
  return put(out, text, "a text", [](const std::string& given) { return std::optional(given); });
}

// Each part between commas.
template <class Visit>
Status each_part(std::string_view text, Visit visit) {
  for (;;) {
    const std::size_t comma = text.find(',');
    TRY(visit(text.substr(0, comma)));
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

Status put_names(AnyOf& out, const std::string& text) {
  return each_part(text, [&](std::string_view name) -> Status {
    if (!is_name(name)) {
      return refuse(
          fmt::format("expected names of 1 to 128 letters, digits or any of _ . : @ -, not {}", quoted_excerpt(name)));
    }
    out.add(std::string(name));
    if (out.names().size() > kTermNamesMax) return refuse(fmt::format("expected at most {} names", kTermNamesMax));
    return {};
  });
}

// `what` in the singular and in the plural.
template <class Enum, std::size_t Count>
std::unexpected<Error> unknown(std::string_view what, std::string_view all, std::string_view name) {
  std::array<std::string_view, Count> known;
  for (std::size_t i = 0; i < Count; ++i) known[i] = name_of(static_cast<Enum>(i));
  return refuse(fmt::format("unknown {} {}; the {} are {}", what, quoted_excerpt(name), all, fmt::join(known, ", ")));
}

Status put_states(std::vector<TaskState>& out, const std::string& text) {
  return each_part(text, [&](std::string_view name) -> Status {
    const auto state = parse_task_state(name);
    if (!state) return unknown<TaskState, kTaskStateCount>("state", "states", name);
    if (std::ranges::find(out, *state) == out.end()) out.push_back(*state);
    return {};
  });
}

Status put_class(std::optional<ErrorClass>& out, const std::string& name) {
  if (!parse_error_class(name)) return unknown<ErrorClass, kErrorClassCount>("error class", "classes", name);
  return put(out, name, "", parse_error_class);
}

Status put_time(std::optional<Time>& out, const std::string& text, const std::optional<Time>& now) {
  if (!now) return put(out, text, "a time (RFC 3339)", parse_time);
  return put(out, text, "a time (RFC 3339), or how long ago, like 2h", [&](const std::string& given) {
    const auto ago = parse_duration(given);
    return ago ? Result<Time>(std::max(*now - *ago, Time())) : parse_time(given);
  });
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (text != "true" && text != "false") return std::nullopt;
  return text == "true";
}

std::optional<TaskOrder> parse_order(std::string_view text) {
  if (text == "newest") return TaskOrder::kNewestFirst;
  if (text == "oldest") return TaskOrder::kOldestFirst;
  return std::nullopt;
}

Status put_order(TaskOrder& out, const std::string& text) {
  std::optional<TaskOrder> order;
  TRY(put(order, text, "newest or oldest", parse_order));
  CHECK(order.has_value());
  out = *order;
  return {};
}

// ---- terms

using Now = std::optional<Time>;
using Text = std::string;
struct Term {
  std::string_view name;
  Status (*read)(TaskFilter&, const Text&, const Now&);
};

constexpr auto kTerms = std::to_array<Term>({
    {"type", [](TaskFilter& f, const Text& v, const Now&) { return put_names(f.type, v); }},
    {"queue", [](TaskFilter& f, const Text& v, const Now&) { return put_names(f.queue, v); }},
    {"owner", [](TaskFilter& f, const Text& v, const Now&) { return put_names(f.owner, v); }},
    {"state", [](TaskFilter& f, const Text& v, const Now&) { return put_states(f.states, v); }},
    {"tag", [](TaskFilter& f, const Text& v, const Now&) { return put_names(f.tag, v); }},
    {"spawner", [](TaskFilter& f, const Text& v, const Now&) { return put(f.parent_id, v, "a UUID", TaskId::parse); }},
    {"class", [](TaskFilter& f, const Text& v, const Now&) { return put_class(f.error_class, v); }},
    {"fingerprint", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.fingerprint, v); }},
    {"worker", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.worker_id, v); }},
    {"model", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.model, v); }},
    {"agent_id", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.agent_id, v); }},
    {"gate", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.gate, v); }},
    {"since", [](TaskFilter& f, const Text& v, const Now& now) { return put_time(f.created_since, v, now); }},
    {"until", [](TaskFilter& f, const Text& v, const Now& now) { return put_time(f.created_until, v, now); }},
    {"search", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.search, v); }},
    {"id", [](TaskFilter& f, const Text& v, const Now&) { return put_text(f.id_prefix, v); }},
    {"finished_after", [](TaskFilter& f, const Text& v, const Now& now) { return put_time(f.finished_after, v, now); }},
    {"finished_before",
     [](TaskFilter& f, const Text& v, const Now& now) { return put_time(f.finished_before, v, now); }},
    {"escalated",
     [](TaskFilter& f, const Text& v, const Now&) { return put(f.escalated, v, "true or false", parse_boolean); }},
    {"order", [](TaskFilter& f, const Text& v, const Now&) { return put_order(f.order, v); }},
});

const Term* find_term(std::string_view name) {
  const auto term = std::ranges::find(kTerms, name, &Term::name);
  return term == kTerms.end() ? nullptr : &*term;
}

// ---- queries

// Takes a query apart: a name, if the term has one, and its text.
class QueryReader {
 public:
  explicit QueryReader(std::string_view text) : rest_(text) {}

  struct Part {
    std::string_view whole;  // as it was typed
    std::string_view name;   // empty: a text without one
    std::string text;
  };
  // Nothing at the end.
  Result<std::optional<Part>> next() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    if (rest_.empty()) return std::nullopt;
    const std::string_view begin = rest_;
    Part part{.name = take_name()};
    part.text = TRY(take_text(begin));
    part.whole = begin.substr(0, begin.size() - rest_.size());
    return part;
  }

 private:
  // What stands before a colon, if it looks like a name.
  std::string_view take_name() {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_letter) - rest_.begin());
    if (end == 0 || end >= rest_.size() || rest_[end] != ':') return {};
    const std::string_view name = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return name;
  }

  Result<std::string> take_text(std::string_view begin) {
    const bool is_quoted = rest_.starts_with('"');
    if (is_quoted) rest_.remove_prefix(1);
    const std::size_t end = rest_.find(is_quoted ? '"' : ' ');
    if (is_quoted && end == std::string_view::npos) {
      return refuse(fmt::format("{}: the quote is not closed", quoted_excerpt(begin)));
    }
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(std::min(text.size() + (is_quoted ? 1 : 0), rest_.size()));
    return text;
  }

  std::string_view rest_;
};

std::unexpected<Error> unknown_term(const QueryReader::Part& part) {
  std::array<std::string_view, kTerms.size()> names;
  std::ranges::transform(kTerms, names.begin(), &Term::name);
  const std::string_view meant = closest_word(part.name, names);
  return refuse(fmt::format(
      "{}: there is no term {}; {}", quoted_excerpt(part.whole), quoted_excerpt(part.name),
      meant.empty() ? std::string("to search for it, put it in quotes") : fmt::format("did you mean {}?", meant)));
}

}  // namespace

bool is_filter_term(std::string_view name) {
  return find_term(name) != nullptr;
}

Status add_filter_term(TaskFilter& filter, std::string_view name, const std::string& value,
                       const std::optional<Time>& now) {
  const Term* term = find_term(name);
  if (term == nullptr) return refuse(fmt::format("there is no term {}", quoted_excerpt(name)));
  return term->read(filter, value, now);
}

std::vector<std::pair<std::string, std::string>> filter_terms(const TaskFilter& filter) {
  std::vector<std::pair<std::string, std::string>> terms;
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) terms.emplace_back(name, *value);
  };
  const auto add_names = [&](std::string_view name, const AnyOf& names) {
    if (names) terms.emplace_back(name, fmt::format("{}", fmt::join(names.names(), ",")));
  };
  const auto add_time = [&](std::string_view name, const std::optional<Time>& time) {
    if (time) terms.emplace_back(name, format_time(*time));
  };
  add_names("type", filter.type);
  add_names("queue", filter.queue);
  add_names("owner", filter.owner);
  for (const TaskState state : filter.states) terms.emplace_back("state", name_of(state));
  add_names("tag", filter.tag);
  if (filter.parent_id) terms.emplace_back("spawner", filter.parent_id->to_string());
  if (filter.error_class) terms.emplace_back("class", name_of(*filter.error_class));
  add("fingerprint", filter.fingerprint);
  add("worker", filter.worker_id);
  add("model", filter.model);
  add("agent_id", filter.agent_id);
  add("gate", filter.gate);
  add_time("since", filter.created_since);
  add_time("until", filter.created_until);
  add("search", filter.search);
  add("id", filter.id_prefix);
  add_time("finished_after", filter.finished_after);
  add_time("finished_before", filter.finished_before);
  if (filter.escalated) terms.emplace_back("escalated", *filter.escalated ? "true" : "false");
  if (filter.order == TaskOrder::kOldestFirst) terms.emplace_back("order", "oldest");
  return terms;
}

Status add_task_query(TaskFilter& filter, std::string_view text, Time now) {
  if (text.size() > kQueryBytesMax) return refuse(fmt::format("expected a query of at most {} bytes", kQueryBytesMax));
  if (!is_utf8(text)) return refuse("expected a query in UTF-8");
  std::string words;
  QueryReader reader(text);
  for (;;) {
    const auto part = TRY(reader.next());
    if (!part) break;
    if (part->name.empty()) {
      if (!words.empty()) words += ' ';
      words += part->text;
      continue;
    }
    if (!is_filter_term(part->name)) return unknown_term(*part);
    if (part->text.empty()) return refuse(fmt::format("{}: a value is missing", quoted_excerpt(part->whole)));
    if (const Status added = add_filter_term(filter, part->name, part->text, now); !added) {
      return refuse(fmt::format("{}: {}", quoted_excerpt(part->whole), added.error().message));
    }
  }
  if (words.empty()) return {};
  if (filter.search) return refuse(fmt::format("{}: a text is searched for already", quoted_excerpt(words)));
  filter.search = std::move(words);
  return {};
}

}  // namespace drover
