// Questions over Redis.
#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "core/question_json.h"
#include "core/question_pages.h"
#include "store/redis/question_text.h"
#include "store/redis/record_text.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/run_text.h"

namespace drover::redis {
namespace {

std::unexpected<Error> unreadable_question(std::string_view text) {
  return drover::fail(ErrorCode::kStoreDamaged, fmt::format("unreadable question: {}", quoted_excerpt(text)),
                      "redis.read");
}

Result<std::optional<QuestionRecord>> maybe_question(const Reply& item) {
  const auto text = TRY(item.as_maybe_text());
  if (!text) return std::nullopt;
  auto record = TRY(parse_question(*text));
  return std::optional(std::move(record));
}

Result<std::vector<std::optional<QuestionRecord>>> questions_in(const Result<Reply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  const auto items = TRY(reply->as_array());
  std::vector<std::optional<QuestionRecord>> found;
  for (const Reply& item : items) {
    auto record = TRY(maybe_question(item));
    found.push_back(std::move(record));
  }
  return found;
}

Result<std::vector<QuestionRecord>> those_there(Result<std::vector<std::optional<QuestionRecord>>> all) {
  if (!all) return std::unexpected(all.error());
  std::vector<QuestionRecord> there;
  for (std::optional<QuestionRecord>& record : *all) {
    if (record) there.push_back(*std::move(record));
  }
  return there;
}

}  // namespace

std::string question_head(const Question& question) {
  const auto wake = wake_at(question);
  return fmt::format("{}|{}|{}", wake ? time_text(*wake) : "~", question.task_id ? question.task_id->to_string() : "~",
                     name_of(question.state));
}

Result<QuestionRecord> parse_question(std::string_view text) {
  const std::size_t bar = text.find('|');
  const std::size_t line_end = text.find('\n');
  if (bar == std::string_view::npos || line_end == std::string_view::npos) return unreadable_question(text);
  QuestionRecord record;
  for (const char digit : text.substr(0, bar)) {
    if (digit < '0' || digit > '9') return unreadable_question(text);
    record.revision = record.revision * 10 + (digit - '0');
  }
  if (!read_json(text.substr(line_end + 1), record.question)) return unreadable_question(text);
  return record;
}

Result<std::vector<std::optional<QuestionRecord>>> RedisStore::read_questions(std::span<const QuestionId> ids) {
  if (ids.empty()) return std::vector<std::optional<QuestionRecord>>();
  Command command = function("questions");
  for (const QuestionId& id : ids) command.add(id.to_string());
  return questions_in(ask(command));
}

Result<std::vector<QuestionRecord>> RedisStore::questions_of(const TaskId& task) {
  return those_there(questions_in(ask(function("questions_of").add(task.to_string()))));
}

Result<QuestionPage> RedisStore::list_questions(const QuestionFilter& filter, int limit,
                                                const std::optional<QuestionId>& before) {
  QuestionPager pager(filter, limit, before);
  const std::string_view index = filter.state == QuestionState::kOpen ? "questions_open" : "question_ids";
  while (pager.wants_more()) {
    const Command command = function("list_questions").add(index, pager.before().to_string(), kQuestionPiece);
    auto piece = TRY(those_there(questions_in(ask(command))));
    pager.add(std::move(piece));
  }
  return std::move(pager).take();
}

Result<std::vector<QuestionRecord>> RedisStore::open_questions(const std::optional<QuestionId>& after, int limit) {
  return those_there(questions_in(ask(function("open_questions").add(after ? after->to_string() : "", limit))));
}

Result<std::array<std::int64_t, kQuestionStateCount>> RedisStore::count_questions() {
  Command command = function("counts");
  for (int i = 0; i < kQuestionStateCount; ++i) {
    command.add(fmt::format("questions|{}", name_of(static_cast<QuestionState>(i))));
  }
  const auto reply = TRY(ask(command));
  const auto numbers = TRY(reply.as_array_of(kQuestionStateCount));
  std::array<std::int64_t, kQuestionStateCount> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = TRY(numbers[i].as_integer());
  return counts;
}

Result<std::int64_t> RedisStore::count_answer_waits(const std::optional<std::string>& owner) {
  const std::string scope = owner ? "owner:" + *owner : "all";
  const auto reply = TRY(ask(function("counts").add(scope + "|answer_wait")));
  const auto numbers = TRY(reply.as_array_of(1));
  return numbers[0].as_integer();
}

Result<std::vector<QuestionRecord>> RedisStore::due_questions(int limit) {
  return those_there(questions_in(ask(function("due_questions").add(limit))));
}

}  // namespace drover::redis
