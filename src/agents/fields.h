// Members of a JSON object whose shape is somebody else's: what is missing or of another kind is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace drover::agents {

[[nodiscard]] std::string_view text_of(const json::Value& object, std::string_view key);
[[nodiscard]] std::optional<std::int64_t> int_of(const json::Value& object, std::string_view key);
// Not negative, and small enough to add up; 0 if there is none.
[[nodiscard]] std::int64_t count_of(const json::Value& object, std::string_view key);
[[nodiscard]] std::optional<double> number_of(const json::Value& object, std::string_view key);
[[nodiscard]] bool is_true(const json::Value& object, std::string_view key);
// A null value, whose members are all missing, if there is none.
[[nodiscard]] const json::Value& child_of(const json::Value& object, std::string_view key);
[[nodiscard]] const json::Value::Array& array_of(const json::Value& object, std::string_view key);
[[nodiscard]] const json::Value::Object& members_of(const json::Value& object);
// A string as it is, null as nothing, everything else as JSON.
[[nodiscard]] std::string as_text(const json::Value& value);
// The text of a message's content: a string, or the texts of its parts, one after the other.
[[nodiscard]] std::string content_text(const json::Value& content);

}  // namespace drover::agents
