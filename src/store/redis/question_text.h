// A question as Redis keeps it: lua/2_questions.lua.
#pragma once

#include <string>
#include <string_view>

#include "core/question.h"

namespace drover::redis {

// wake|task|state: what indexes go by.
[[nodiscard]] std::string question_head(const Question& question);
[[nodiscard]] Result<QuestionRecord> parse_question(std::string_view text);

}  // namespace drover::redis
