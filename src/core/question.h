// The rules of questions, pure: what may be asked, what answers it, and how it ends. What its task makes of that is
// decided in transition.h (Ask, QuestionClosed). docs/internals/questions.md tells the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/task_record.h"
#include "drover/question.h"

namespace drover {

struct QuestionRecord {
  Question question;
  std::int64_t revision = 0;  // grows with every step

  bool operator==(const QuestionRecord&) const = default;
};

// When sweepers have to look at it: it expires, or people are to be asked instead of a spawner. None once it is closed.
[[nodiscard]] std::optional<Time> wake_at(const Question& question);

// The spec with its JSON compact and its key set. kInvalidArgument names the field.
[[nodiscard]] Result<QuestionSpec> checked_question(QuestionSpec spec);
// The question that a task has asked with that key since an operator's retry began it; null: none.
[[nodiscard]] const QuestionRecord* find_asked(const TaskRecord& asker, std::span<const QuestionRecord> asked,
                                               std::string_view key);
// kLimitExceeded: the task has asked as many as it may.
[[nodiscard]] Status check_may_ask(const TaskRecord& asker, std::span<const QuestionRecord> asked);

enum class SpawnerIs : std::uint8_t { kRunning, kAway };
// The spec must be checked. A spawner that is not running, or is none, is replaced by people at once.
[[nodiscard]] Question new_question(const QuestionId& id, const TaskRecord& asker, QuestionSpec spec, SpawnerIs spawner,
                                    Time now);
// A question that no task asks: of a gate, for instance because its budget is used up. People answer it, those of
// `owner` if that is set; nothing follows in the store but the answer.
[[nodiscard]] Question new_gate_question(const QuestionId& id, std::string gate, std::string owner, QuestionSpec spec,
                                         Time now);

// kInvalidArgument: the options or the schema do not allow it, or it is too long.
[[nodiscard]] Result<JsonText> checked_answer(const Question& question, const JsonText& value);
// Whether this task may answer: it was asked, as the spawner. kForbidden.
[[nodiscard]] Status check_spawner_may_answer(const Question& question, const TaskId& spawner);

// Each is the question afterwards. kWrongState: it is closed, and the message says how.
[[nodiscard]] Result<Question> answered(Question question, JsonText value, std::string by, Time now);
[[nodiscard]] Result<Question> withdrawn(Question question, std::string by, std::string why, Time now);
// What its time brings: expired, answered by its default, or handed to people; none if its time has not come.
[[nodiscard]] std::optional<Question> after_its_time(Question question, Time now);

// Whether the task may go on once the question is closed like this.
[[nodiscard]] bool is_unanswered(const Question& question);
// `question ID, asked 5m ago: "Shall I?"`, for people.
[[nodiscard]] std::string in_words(const Question& question, Time now);
// The event that tells how it stands: question.asked, .answered, .expired, .withdrawn, or .handed_over to people.
[[nodiscard]] std::string event_name(const Question& before, const Question& after);
[[nodiscard]] JsonText event_data(const Question& question);

}  // namespace drover
