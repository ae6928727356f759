// A question as JSON: what every surface shows, and what stores and dumps keep.
#pragma once

#include <string_view>

#include "base/json_reader.h"
#include "drover/question.h"

namespace drover {

[[nodiscard]] JsonText to_json(const Question& question);
[[nodiscard]] JsonText to_json(const QuestionSpec& spec);
[[nodiscard]] JsonText to_json(const QuestionPage& page);
// Members that are not known are passed over: a newer peer may say more.
[[nodiscard]] Status read_json(std::string_view json, Question& out);
[[nodiscard]] Status read_json(std::string_view json, QuestionId& out);
[[nodiscard]] Status read_json(std::string_view json, QuestionPage& out);
// From a request, among other members. How long it may be open is expires_ms, or expires with a unit ("1h").
json::Reader& read_question(json::Reader& in, QuestionSpec& out);
// The same where nothing else may be said.
[[nodiscard]] Status read_json(std::string_view json, QuestionSpec& out);

}  // namespace drover
