// Questions over SQLite.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] std::optional<QuestionRecord> read_question(Connection& db, const QuestionId& id);
[[nodiscard]] std::vector<QuestionRecord> read_questions_of(Connection& db, const TaskId& task);
[[nodiscard]] QuestionPage list_questions(Connection& db, const QuestionFilter& filter, int limit,
                                          const std::optional<QuestionId>& before);
[[nodiscard]] std::vector<QuestionRecord> read_open_questions(Connection& db, const std::optional<QuestionId>& after,
                                                              int limit);
[[nodiscard]] std::array<std::int64_t, kQuestionStateCount> count_questions(Connection& db);
[[nodiscard]] std::int64_t count_answer_waits(Connection& db, const std::optional<std::string>& owner);
void change_answer_waits(Connection& db, const std::string& owner, int change);
[[nodiscard]] std::vector<QuestionRecord> read_due_questions(Connection& db, const Clock& clock, int limit);

[[nodiscard]] bool still_holds(Connection& db, const QuestionStep& step);
void write_question(Transaction& transaction, const QuestionStep& step);
// As a dump has them.
void restore_questions(Connection& db, std::span<const Question> questions);

}  // namespace drover::sqlite
