#include "worker/question_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"

namespace drover {
namespace {

// Begins a line; what only one of them says is added by the caller.
json::Writer line_of(const Question& question, std::string_view text) {
  json::Writer line;
  line.begin_object().key("kind").string("question").key("text").string(text);
  line.key("question_id").string(question.id.to_string()).key("state");
  return line;
}

std::string asked_line(const Question& question) {
  const std::string text = question.options.empty()
                               ? question.text
                               : fmt::format("{} ({})", question.text, fmt::join(question.options, ", "));
  json::Writer line = line_of(question, text);
  line.string(name_of(QuestionState::kOpen)).key("to").string(name_of(question.to)).end_object();
  return std::move(line).take() + "\n";
}

std::string closed_text(const Question& question) {
  const std::string by = question.answered_by.value_or("");
  switch (question.state) {
    case QuestionState::kOpen:
    case QuestionState::kExpired:
      return "expired: nobody answered in time";
    case QuestionState::kAnswered:
      return fmt::format("answered by {}: {}", by.empty() ? "somebody" : by,
                         answer_to_word(question.answer.value_or("null")));
    case QuestionState::kWithdrawn:
      return fmt::format("withdrawn{}{}", by.empty() ? "" : " by " + by,
                         question.why.empty() ? "" : ": " + question.why);
  }
  return {};
}

std::string closed_line(const Question& question) {
  json::Writer line = line_of(question, closed_text(question));
  line.string(name_of(question.state));
  if (question.answer) line.key("answer").raw(*question.answer);
  if (question.answered_by) line.key("by").string(*question.answered_by);
  line.end_object();
  return std::move(line).take() + "\n";
}

}  // namespace

std::string QuestionLines::hear(const Question& question) {
  const auto [told, is_new] = told_.try_emplace(question.id, QuestionState::kOpen);
  std::string lines = is_new ? asked_line(question) : "";
  if (question.state != told->second) lines += closed_line(question);
  told->second = question.state;
  return lines;
}

std::string QuestionLines::hear_at_start(const ClaimedTask& claimed) {
  if (claimed.earlier_runs.empty()) return {};
  const std::optional<Time>& ended_at = claimed.earlier_runs.front().ended_at;
  std::string lines;
  for (const Question& question : claimed.questions) {
    if (ended_at && question.closed_at && *question.closed_at >= *ended_at) lines += hear(question);
  }
  return lines;
}

}  // namespace drover
