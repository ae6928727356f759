#include "server/api.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace drover::server {

Status Call::only(std::initializer_list<std::string_view> known,
                  std::initializer_list<std::string_view> several) const {
  for (auto parameter = target.query.begin(); parameter != target.query.end(); ++parameter) {
    const std::string& name = parameter->first;
    if (std::ranges::find(several, name) != several.end()) continue;
    if (std::ranges::find(known, name) != known.end()) {
      const auto is_same = [&](const auto& other) { return other.first == name; };
      if (std::none_of(target.query.begin(), parameter, is_same)) continue;
      return fail(ErrorCode::kInvalidArgument, fmt::format("the parameter {} is given twice", name));
    }
    const std::string_view near = closest_word(name, known);
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown parameter {}{}", quoted_excerpt(name),
                            near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)));
  }
  return {};
}

std::optional<std::string> Call::parameter(std::string_view name) const {
  const auto found =
      std::ranges::find(target.query, name, [](const auto& pair) { return std::string_view(pair.first); });
  if (found == target.query.end()) return std::nullopt;
  return found->second;
}

Result<std::int64_t> read_number(std::string_view name, std::string_view text, std::int64_t max) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= 0 && value <= max) return value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected a whole number from 0 to {}, not {}", name, max, quoted_excerpt(text)));
}

Result<std::int64_t> Call::number(std::string_view name, std::int64_t otherwise, std::int64_t max) const {
  const auto text = parameter(name);
  return text ? read_number(name, *text, max) : otherwise;
}

Result<Millis> Call::duration(std::string_view name, Millis otherwise, Millis max) const {
  const auto text = parameter(name);
  if (!text) return otherwise;
  const auto value = parse_duration(*text);
  if (!value) return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, value.error().message));
  if (*value <= max) return *value;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: at most {}", name, format_duration(max)));
}

Result<bool> Call::boolean(std::string_view name, bool otherwise) const {
  const auto text = parameter(name);
  if (!text) return otherwise;
  if (*text == "true") return true;
  if (*text == "false") return false;
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected true or false", name));
}

Result<TaskId> Call::task_id() const {
  if (const auto id = TaskId::parse(captures[0])) return *id;
  return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", quoted_excerpt(captures[0])));
}

HttpResponse json_response(std::string body, int status) {
  return {.status = status, .body = std::move(body) + "\n"};
}

HttpResponse no_content() {
  return {.status = kNoContent, .content_type = {}, .body = {}};
}

HttpResponse respond(const Status& status) {
  return status ? no_content() : problem(status.error());
}

}  // namespace drover::server
