// /v1/questions, and what a running task asks and answers.
#include <array>
#include <utility>

#include "base/try.h"
#include "core/question_json.h"
#include "server/api.h"

namespace drover::server {
namespace {

constexpr int kQuestionsShown = 100;

std::unexpected<Error> bad_parameter(std::string message) {
  return drover::fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<QuestionId> question_id(const Call& call) {
  const auto id = QuestionId::parse(call.captures[0]);
  if (!id) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no question {}", call.captures[0]));
  return *id;
}

Result<std::optional<TaskId>> task_parameter(const Call& call, std::string_view name) {
  const auto text = call.parameter(name);
  if (!text) return std::nullopt;
  const auto id = TaskId::parse(*text);
  if (!id) return bad_parameter(fmt::format("{}: expected the id of a task", name));
  return std::optional(*id);
}

Result<QuestionFilter> filter_of(const Call& call) {
  QuestionFilter filter{.owner = call.parameter("owner")};
  if (const auto state = call.parameter("state")) {
    filter.state = parse_question_state(*state);
    if (!filter.state) return bad_parameter("state: expected open, answered, expired or withdrawn");
  }
  if (const auto to = call.parameter("to")) {
    filter.to = parse_asked_of(*to);
    if (!filter.to) return bad_parameter("to: expected human or spawner");
  }
  filter.task_id = TRY(task_parameter(call, "task"));
  filter.spawner = TRY(task_parameter(call, "spawner"));
  return filter;
}

// ?state=open&owner=O&task=ID&spawner=ID&to=human&limit=N&cursor=C
Answer list_questions(const Call& call) {
  const Status known = call.only({"state", "owner", "task", "spawner", "to", "limit", "cursor"});
  if (!known) return problem(known.error());
  const auto filter = filter_of(call);
  if (!filter) return problem(filter.error());
  const auto limit = call.number("limit", kQuestionsShown, kPageMax);
  if (!limit) return problem(limit.error());
  return respond(call.queue.questions(*filter, static_cast<int>(*limit), call.parameter("cursor")));
}

// ?wait=30s: until it is not open any more.
Answer show_question(const Call& call) {
  if (const Status known = call.only({"wait"}); !known) return problem(known.error());
  const auto id = question_id(call);
  if (!id) return problem(id.error());
  const auto wait = call.duration("wait", Millis{0}, kWaitMax);
  if (!wait) return problem(wait.error());
  const auto question = call.queue.question(*id);
  const bool waits = question && question->state == QuestionState::kOpen && *wait > Millis{0};
  if (!waits || call.attempt == Try::kLast) return respond(question);
  if (const std::optional<TaskId>& task = question->task_id)
    return Wait{.for_what = Wait::OfTask{*task}, .at_most = *wait};
  return Wait{.for_what = Wait::Change{}, .at_most = *wait};
}

// {"value": any JSON}
Answer answer_question(const Call& call) {
  const auto id = question_id(call);
  if (!id) return problem(id.error());
  JsonText value;
  json::Reader body(call.request.body);
  body.need_any_text("value", value);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.answer(*id, {.value = std::move(value)}));
}

// {"why"}
Answer withdraw_question(const Call& call) {
  const auto id = question_id(call);
  if (!id) return problem(id.error());
  Verdict verdict;
  json::Reader body(body_of(call));
  body.get("why", verdict.why);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.withdraw_question(*id, verdict));
}

// {"lease_id", "question": {"text", …}}
Answer ask(const Call& call) {
  const auto task = call.task_id();
  if (!task) return problem(task.error());
  Lease lease{.task = *task, .id = {}};
  QuestionSpec spec;
  json::Reader body(call.request.body);
  body.need("lease_id", lease.id).need("question", spec);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.ask(lease, spec));
}

// {"lease_id", "question_id", "value"}: the spawner answers a task that it spawned.
Answer answer_as_spawner(const Call& call) {
  const auto task = call.task_id();
  if (!task) return problem(task.error());
  Lease spawner{.task = *task, .id = {}};
  QuestionId id;
  JsonText value;
  json::Reader body(call.request.body);
  body.need("lease_id", spawner.id).need("question_id", id).need_any_text("value", value);
  if (const Status good = body.finish_strictly(); !good) return problem(good.error());
  return respond(call.queue.answer(id, {.value = std::move(value), .spawner = spawner}));
}

constexpr std::array kQuestionRoutes{
    Route{"GET", "/v1/questions", list_questions},
    Route{"GET", "/v1/questions/{id}", show_question},
    Route{"POST", "/v1/questions/{id}/answer", answer_question},
    Route{"POST", "/v1/questions/{id}/withdraw", withdraw_question},
    Route{"POST", "/v1/tasks/{id}/questions", ask},
    Route{"POST", "/v1/tasks/{id}/answers", answer_as_spawner},
};

}  // namespace

std::span<const Route> question_routes() {
  return kQuestionRoutes;
}

}  // namespace drover::server
