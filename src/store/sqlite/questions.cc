#include "store/sqlite/questions.h"

#include <fmt/format.h>

#include <utility>

#include "core/question_json.h"
#include "core/question_pages.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kPut = named_sql(embedded::questions_sql, "put");
constexpr std::string_view kRevisionOf = named_sql(embedded::questions_sql, "revision_of");
constexpr std::string_view kOfId = named_sql(embedded::questions_sql, "of_id");
constexpr std::string_view kOfTask = named_sql(embedded::questions_sql, "of_task");
constexpr std::string_view kNewest = named_sql(embedded::questions_sql, "newest");
constexpr std::string_view kNewestOpen = named_sql(embedded::questions_sql, "newest_open");
constexpr std::string_view kOldestOpen = named_sql(embedded::questions_sql, "oldest_open");
constexpr std::string_view kCountByState = named_sql(embedded::questions_sql, "count");
constexpr std::string_view kAnswerWaits = named_sql(embedded::questions_sql, "answer_waits");
constexpr std::string_view kAnswerWaitsOf = named_sql(embedded::questions_sql, "answer_waits_of");
constexpr std::string_view kChangeAnswerWaits = named_sql(embedded::questions_sql, "change_answer_waits");
constexpr std::string_view kForgetAnswerWaits = named_sql(embedded::questions_sql, "forget_answer_waits");
constexpr std::string_view kDueQuestions = named_sql(embedded::questions_sql, "due");

// Ids are kept as the blobs that tasks have.
TaskId key_of(const QuestionId& id) {
  return TaskId(id.bytes());
}

QuestionRecord question_in(Statement& query) {
  QuestionRecord record;
  record.revision = query.integer();
  const std::string text = query.text();
  if (const Status read = read_json(text, record.question); !read) {
    throw SqliteFailure(SQLITE_CORRUPT, fmt::format("unreadable question: {}", read.error().message));
  }
  return record;
}

std::vector<QuestionRecord> questions_in(Statement& query) {
  std::vector<QuestionRecord> found;
  while (query.step()) found.push_back(question_in(query));
  return found;
}

void put(Connection& db, const Question& question, std::int64_t revision) {
  db.run(kPut, key_of(question.id), question.task_id, question.owner, static_cast<int>(question.state),
         wake_at(question), revision, to_json(question));
}

}  // namespace

std::optional<QuestionRecord> read_question(Connection& db, const QuestionId& id) {
  Statement query = db.prepare(kOfId);
  query.bind(key_of(id));
  if (!query.step()) return std::nullopt;
  return question_in(query);
}

std::vector<QuestionRecord> read_questions_of(Connection& db, const TaskId& task) {
  Statement query = db.prepare(kOfTask);
  query.bind(task);
  return questions_in(query);
}

QuestionPage list_questions(Connection& db, const QuestionFilter& filter, int limit,
                            const std::optional<QuestionId>& before) {
  QuestionPager pager(filter, limit, before);
  while (pager.wants_more()) {
    Statement query = db.prepare(filter.state == QuestionState::kOpen ? kNewestOpen : kNewest);
    query.bind(key_of(pager.before()), kQuestionPiece);
    pager.add(questions_in(query));
  }
  return std::move(pager).take();
}

std::vector<QuestionRecord> read_open_questions(Connection& db, const std::optional<QuestionId>& after, int limit) {
  Statement query = db.prepare(kOldestOpen);
  query.bind(key_of(after.value_or(QuestionId())), limit);
  return questions_in(query);
}

std::array<std::int64_t, kQuestionStateCount> count_questions(Connection& db) {
  std::array<std::int64_t, kQuestionStateCount> counts{};
  Statement query = db.prepare(kCountByState);
  while (query.step()) {
    const auto state = static_cast<std::size_t>(query.integer());
    const std::int64_t count = query.integer();
    if (state < counts.size()) counts[state] = count;
  }
  return counts;
}

std::int64_t count_answer_waits(Connection& db, const std::optional<std::string>& owner) {
  return owner ? db.number(kAnswerWaitsOf, *owner) : db.number(kAnswerWaits);
}

void change_answer_waits(Connection& db, const std::string& owner, int change) {
  if (change == 0) return;
  db.run(kChangeAnswerWaits, owner, change);
  if (change < 0) db.run(kForgetAnswerWaits, owner);
}

std::vector<QuestionRecord> read_due_questions(Connection& db, const Clock& clock, int limit) {
  Statement query = db.prepare(kDueQuestions);
  query.bind(clock.wall(), limit);
  return questions_in(query);
}

bool still_holds(Connection& db, const QuestionStep& step) {
  Statement query = db.prepare(kRevisionOf);
  query.bind(key_of(step.next.id));
  const std::int64_t revision = query.step() ? query.integer() : 0;
  return revision == step.expected_revision;
}

void write_question(Transaction& transaction, const QuestionStep& step) {
  put(transaction.db(), step.next, step.expected_revision + 1);
  for (const EventDraft& event : step.events) transaction.add_event(Task(), event.name, event.data);
}

void restore_questions(Connection& db, std::span<const Question> questions) {
  for (const Question& question : questions) put(db, question, 1);
}

}  // namespace drover::sqlite
