#include "store/redis/run_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/json.h"
#include "base/text.h"

namespace drover::redis {
namespace {

std::unexpected<Error> unreadable(std::string_view what, std::string_view text) {
  return fail(ErrorCode::kStoreDamaged, fmt::format("unreadable {}: {}", what, quoted_excerpt(text)), "redis.read");
}

// The first N parts between bars; the last one takes all that is left.
template <std::size_t N>
std::optional<std::array<std::string_view, N>> parts_of(std::string_view text) {
  std::array<std::string_view, N> parts;
  for (std::size_t i = 0; i + 1 < N; ++i) {
    const std::size_t bar = text.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    parts[i] = text.substr(0, bar);
    text.remove_prefix(bar + 1);
  }
  parts[N - 1] = text;
  return parts;
}

std::int64_t number_of(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Time time_of(std::string_view text) {
  return Time(Millis(number_of(text)));
}

}  // namespace

std::string run_end_text(const RunEnd& end, int run, int generation) {
  json::Writer rest;
  rest.begin_object();
  if (end.error) rest.key("class").string(name_of(end.error->error_class)).key("message").string(end.error->message);
  if (end.exit_code) rest.key("exit_code").number(*end.exit_code);
  if (end.note) rest.key("note").string(*end.note);
  if (end.usage) rest.key("usage").string(*end.usage);
  if (end.change) rest.key("change").string(*end.change);
  if (end.evidence) rest.key("evidence").string(*end.evidence);
  if (end.settlement) rest.key("settled").string(to_text(*end.settlement));
  rest.end_object();
  return fmt::format("{}|{}|{}|{}", run, generation, end.outcome, std::move(rest).take());
}

Result<RunSummary> parse_run(std::string_view text) {
  const auto parts = parts_of<7>(text);
  if (!parts) return unreadable("run", text);
  const auto& [worker, started, ended, run, generation, outcome, rest] = *parts;
  const auto json = json::parse(rest);
  if (!json) return unreadable("run", text);
  RunSummary summary;
  summary.run = static_cast<int>(number_of(run));
  summary.generation = static_cast<int>(number_of(generation));
  summary.worker_id = worker;
  summary.started_at = time_of(started);
  summary.ended_at = time_of(ended);
  summary.outcome = outcome;
  const auto member = [&](std::string_view key) -> const std::string* {
    const json::Value* value = json->find(key);
    return value != nullptr ? value->as_string() : nullptr;
  };
  if (const std::string* name = member("class")) {
    const auto error_class = parse_error_class(*name);
    if (!error_class) return unreadable("run", text);
    const std::string* message = member("message");
    summary.error = TaskError{*error_class, message != nullptr ? *message : ""};
  }
  if (const json::Value* code = json->find("exit_code")) {
    if (const auto value = code->as_int()) summary.exit_code = static_cast<int>(*value);
  }
  for (const auto& [name, to] : {std::pair{"note", &summary.note},
                                 {"usage", &summary.usage},
                                 {"change", &summary.change},
                                 {"evidence", &summary.evidence}}) {
    if (const std::string* found = member(name)) *to = *found;
  }
  if (const std::string* settled = member("settled")) {
    summary.settlement = parse_run_settlement(*settled);
    if (!summary.settlement) return unreadable("run", text);
  }
  return summary;
}

Result<Event> parse_event(std::int64_t seq, Time at, std::string_view text) {
  const auto parts = parts_of<12>(text);
  if (!parts) return unreadable("event", text);
  const auto& [name, task, queue, rank, owner, type, cost, gates, state, run, generation, data] = *parts;
  Event event;
  event.seq = seq;
  event.at = at;
  event.name = name;
  event.queue = queue;
  event.owner = owner;
  event.type = type;
  event.data = data;
  if (!task.empty()) {
    const auto id = TaskId::parse(task);
    const auto parsed_state = parse_task_state(state);
    if (!id || !parsed_state) return unreadable("event", text);
    event.task = *id;
    event.state = *parsed_state;
    event.run = static_cast<int>(number_of(run));
    event.generation = static_cast<int>(number_of(generation));
  }
  return event;
}

Result<Event> to_event(std::span<const Reply> parts) {
  const auto seq = parts[0].as_integer();
  const auto at = parts[1].as_integer();
  const auto text = parts[2].as_text();
  if (!seq || !at || !text) return unreadable("event", text ? *text : "of another shape");
  return parse_event(*seq, Time(Millis(*at)), *text);
}

}  // namespace drover::redis
