// What is to change of a task, as members of an object; null has a meaning for each of them.
#include "base/json_reader.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "wire/read.h"

namespace drover {
namespace {

using json::Reader;

// As the shape of a new task has it: a number or a name.
Status read_priority(const JsonText& json, int& out) {
  if (!json.starts_with('"')) return json::read_json(json, out);
  std::string name;
  TRY(json::read_json(json, name));
  out = TRY(parse_priority(name));
  return {};
}

Status read_delay(const JsonText& json, Millis& out) {
  std::string text;
  TRY(json::read_json(json, text));
  out = TRY(parse_duration(text));
  return {};
}

Status read_tags(const JsonText& json, std::vector<std::string>& out) {
  if (json == "null") return {};
  return json::read_json(json, out);
}

Status read_time(const JsonText& json, Time& out) {
  return json::read_json(json, out);
}

template <class T>
Status read_member(Reader& in, std::string_view name, std::optional<T>& out, Status (*read)(const JsonText&, T&)) {
  std::optional<JsonText> json;
  in.get_any_text(name, json);
  if (!json) return {};
  if (Status given = read(*json, out.emplace()); !given) return at_field(name, std::move(given.error()));
  return {};
}

// No time: at once.
Status read_run_at(Reader& in, EditOrder& out) {
  if (in.has("run_at")) return read_member(in, "run_at", out.run_at, read_time);
  std::optional<JsonText> null;
  in.get_any_text("run_at", null);
  if (null && !out.delay) out.delay = Millis{0};
  return {};
}

Status read_members(Reader& in, EditOrder& out) {
  in.get_any_text("payload", out.payload).get_any_text("patch", out.patch);
  TRY(read_member(in, "priority", out.priority, read_priority));
  TRY(read_member(in, "delay", out.delay, read_delay));
  TRY(read_member(in, "tags", out.tags, read_tags));
  return read_run_at(in, out);
}

}  // namespace

Status read_json(std::string_view json, EditOrder& out) {
  Reader in(json);
  const Status read = read_members(in, out);
  TRY(in.finish_strictly());
  return read;
}

Status read_merge_patch(std::string_view json, EditOrder& out) {
  TRY(read_json(json, out));
  const auto refused = [](std::string_view field, const char* why) {
    return at_field(field, Error{ErrorCode::kInvalidArgument, why, {}});
  };
  if (out.patch) return refused("patch", "is not a member of a task");
  if (out.payload == "null") return refused("payload", "a task keeps its payload: it cannot be taken away");
  out.patch = std::exchange(out.payload, std::nullopt);
  return {};
}

}  // namespace drover
