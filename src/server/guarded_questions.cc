// Questions as one caller may see and answer them. People answer: producers for their owner, operators and admins;
// questions of gates only operators and admins. A worker asks for its tasks, and answers only as the spawner that was
// asked.
#include <fmt/format.h>

#include "base/try.h"
#include "server/guarded_queue.h"

namespace drover::server {
namespace {

std::unexpected<Error> no_such_question(const QuestionId& id) {
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no question {}", id.to_string()));
}

}  // namespace

Result<Question> GuardedQueue::ask(const Lease& lease, const QuestionSpec& spec) {
  TRY(need_work(lease.task));
  return queue_.ask(lease, spec);
}

Result<bool> GuardedQueue::runs_for_caller(const std::optional<TaskId>& id) const {
  if (!id) return false;
  const auto found = TRY(queue_.heads(std::span(&*id, 1)));
  const std::optional<Task>& task = found.front();
  if (!task) return false;
  return runs_for_caller(*task);
}

Result<bool> GuardedQueue::concerns_workers_task(const Question& question) const {
  const auto asks = TRY(runs_for_caller(question.task_id));
  if (asks) return true;
  return runs_for_caller(question.spawner);
}

Result<Question> GuardedQueue::question(const QuestionId& id) {
  const bool works = principal_.role == Role::kWorker;
  TRY(need(works ? Right::kWork : Right::kRead));
  auto question = TRY(queue_.question(id));
  if (principal_.owner && question.owner != *principal_.owner) return no_such_question(id);
  if (!works) return question;
  const auto is_theirs = TRY(concerns_workers_task(question));
  return is_theirs ? Result<Question>(std::move(question)) : no_such_question(id);
}

// A worker finds those of one task that runs for it: that it asked, or that it was asked as their spawner.
Result<QuestionPage> GuardedQueue::questions(const QuestionFilter& filter, int limit,
                                             const std::optional<std::string>& cursor) {
  if (principal_.role == Role::kWorker) {
    TRY(need(Right::kWork));
    const std::optional<TaskId>& task = filter.task_id ? filter.task_id : filter.spawner;
    if (!task) return drover::fail(ErrorCode::kForbidden, "a token of the role worker lists the questions of one task");
    const auto runs = TRY(runs_for_caller(task));
    return runs ? queue_.questions(filter, limit, cursor) : QuestionPage{};
  }
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.questions(filter, limit, cursor);
  if (filter.owner && *filter.owner != *principal_.owner) return QuestionPage{};
  QuestionFilter own = filter;
  own.owner = principal_.owner;
  return queue_.questions(own, limit, cursor);
}

// What a gate asks about is for those to decide who may change the gate.
Status GuardedQueue::need_answer(const QuestionId& id) {
  TRY(need(Right::kProduce));
  const auto asked = TRY(question(id));
  return asked.gate ? need(Right::kOperate) : Status();
}

Result<Question> GuardedQueue::answer(const QuestionId& id, const AnswerOrder& order) {
  if (order.spawner) {
    TRY(need_work(order.spawner->task));
    TRY(question(id));
    return queue_.answer(id, order);
  }
  TRY(need_answer(id));
  return queue_.answer(id, {.value = order.value, .by = caller()});
}

Result<Question> GuardedQueue::withdraw_question(const QuestionId& id, const Verdict& verdict) {
  TRY(need_answer(id));
  return queue_.withdraw_question(id, signed_by_caller(verdict));
}

}  // namespace drover::server
