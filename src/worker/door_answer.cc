// What the door answers to each request.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"
#include "core/budget_json.h"
#include "core/error_class.h"
#include "core/question_json.h"
#include "core/session_record.h"
#include "core/task_json.h"
#include "core/usage.h"
#include "worker/door.h"
#include "worker/parent_results.h"

namespace drover {
namespace {

using json::Value;

constexpr int kCreated = 201;
constexpr int kNoContent = 204;
constexpr int kMethodNotAllowed = 405;
constexpr std::size_t kFailureTextBytesMax = 16'384;  // more would be cut when it is stored

struct Visit {
  TaskQueue& queue;
  const ClaimedTask& claimed;
  UsageAtDoor usage;
  const HttpRequest& request;
  LastWill& will;
};

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

HttpResponse no_content(const Status& status) {
  if (!status) return problem(status.error());
  return {.status = kNoContent, .content_type = {}};
}

// The members of a body that must be an object with nothing but these.
Result<Value> parse_object(std::string_view body, std::initializer_list<std::string_view> known) {
  auto value = json::parse(body);
  if (!value) return value;
  if (value->as_object() == nullptr)
    return bad(fmt::format("the body must be an object, not {}", value->kind_phrase()));
  for (const auto& [name, member] : *value->as_object()) {
    if (std::ranges::find(known, name) == known.end()) return bad(fmt::format("unknown field {}", json::quote(name)));
  }
  return value;
}

HttpResponse show_task(const Visit& visit) {
  const auto task = visit.queue.get(visit.claimed.task.id);
  if (!task) return problem(task.error());
  std::string body = to_json(*task);
  body.pop_back();  // the closing brace: one more member follows
  body += ",\"earlier_runs\":[";
  for (const RunSummary& run : visit.claimed.earlier_runs) {
    if (body.back() != '[') body += ',';
    body += to_json(run);
  }
  const auto parents = read_parents(visit.queue, *task);
  if (!parents) return problem(parents.error());
  body += "],\"parents\":" + to_json(*parents);
  // How the run stands is news for its agent, and no reason to refuse it the rest.
  const auto standing = visit.queue.standing_of(visit.claimed.lease);
  body += "," + members_of(standing ? *standing : RunStanding{});
  if (visit.claimed.session) body += ",\"session_start\":" + to_json(*visit.claimed.session);
  return {.body = body + "}\n"};
}

constexpr std::string_view kParentsPrefix = "/v1/task/parents/";
constexpr std::string_view kResultSuffix = "/result";

// Nothing: the target is another.
std::optional<std::string_view> parent_in(std::string_view target) {
  const std::size_t around = kParentsPrefix.size() + kResultSuffix.size();
  if (target.size() <= around || !target.starts_with(kParentsPrefix) || !target.ends_with(kResultSuffix)) {
    return std::nullopt;
  }
  return target.substr(kParentsPrefix.size(), target.size() - around);
}

HttpResponse show_parent_result(const Visit& visit) {
  const auto parents = read_parents(visit.queue, visit.claimed.task);
  if (!parents) return problem(parents.error());
  const auto parent = find_parent(*parents, parent_in(visit.request.target).value_or(""));
  if (!parent) return problem(parent.error());
  if (!parent->state) {
    return problem(Error{
        ErrorCode::kNotFound, fmt::format("parent {} is gone: retention deleted it", parent->id.to_string()), {}});
  }
  return {.body = parent->result.value_or("null") + "\n"};
}

// From spawned to spawner, until this task is met. No chain is longer than a policy allows (limits.depth).
constexpr int kSpawnersMax = 100;

Result<bool> is_descendant(const Visit& visit, const Task& task) {
  std::optional<TaskId> spawner = task.parent_id;
  for (int step = 0; spawner && step < kSpawnersMax; ++step) {
    if (*spawner == visit.claimed.task.id) return true;
    const auto found = TRY(visit.queue.heads(std::span(&*spawner, 1)));
    const std::optional<Task>& above = found.front();
    spawner = above ? above->parent_id : std::nullopt;
  }
  return false;
}

constexpr std::string_view kTasksPrefix = "/v1/tasks/";

// Somebody else's task is not there, whatever its id.
HttpResponse show_descendant(const Visit& visit) {
  const std::string_view text = std::string_view(visit.request.target).substr(kTasksPrefix.size());
  const auto missing = [&] {
    return problem(
        Error{ErrorCode::kNotFound, fmt::format("this task has spawned no task {}", quoted_excerpt(text)), {}});
  };
  const auto id = TaskId::parse(text);
  if (!id) return missing();
  const auto task = visit.queue.get(*id);
  if (!task && task.error().code == ErrorCode::kNotFound) return missing();
  if (!task) return problem(task.error());
  const auto is_own = is_descendant(visit, *task);
  if (!is_own) return problem(is_own.error());
  return *is_own ? HttpResponse{.body = to_json(*task) + "\n"} : missing();
}

// Whether the task may wait for these is decided at the end of the run; what is wrong already is said now.
Status check_wait(const Visit& visit, const Suspend& wait) {
  if (visit.claimed.task.at_most_once) {
    return bad("this task may run at most once, so it cannot suspend and run again");
  }
  if (!wait.children) return {};
  const auto heads = TRY(visit.queue.heads(*wait.children));
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::optional<Task>& child = heads[i];
    if (child && child->parent_id == visit.claimed.task.id) continue;
    return fail(ErrorCode::kUnknownParent,
                fmt::format("{} is not a child of this task", (*wait.children)[i].to_string()));
  }
  return {};
}

Result<Suspend> parse_wait(std::string_view body) {
  json::Reader in(body);
  Suspend wait;
  if (!in.has("children")) in.refuse("children is missing: say \"all\", or a list of ids");
  read_children(in, wait);
  TRY(in.finish_strictly());
  return wait;
}

HttpResponse take_wait(const Visit& visit) {
  auto wait = parse_wait(visit.request.body);
  if (!wait) return problem(wait.error());
  const Status good = check_wait(visit, *wait);
  if (good) visit.will.wait = *std::move(wait);
  return no_content(good);
}

Result<Progress> parse_progress(std::string_view body) {
  const auto object = TRY(parse_object(body, {"percent", "message"}));
  const Value* percent = object.find("percent");
  const std::optional<std::int64_t> number = percent != nullptr ? percent->as_int() : std::nullopt;
  if (!number || *number < 0 || *number > 100) return bad("percent must be a whole number from 0 to 100");
  Progress progress{.percent = static_cast<int>(*number)};
  const Value* message = object.find("message");
  if (message == nullptr || message->is_null()) return progress;
  if (message->as_string() == nullptr)
    return bad(fmt::format("message must be a string, not {}", message->kind_phrase()));
  progress.message = *message->as_string();
  return progress;
}

HttpResponse take_progress(const Visit& visit) {
  const auto progress = parse_progress(visit.request.body);
  if (!progress) return problem(progress.error());
  return no_content(visit.queue.progress(visit.claimed.lease, *progress));
}

Result<std::string> parse_log(std::string_view body) {
  const auto object = TRY(parse_object(body, {"text", "lines"}));
  const Value* text = object.find("text");
  const Value* lines = object.find("lines");
  if ((text != nullptr) == (lines != nullptr)) return bad("the body must have either text or lines");
  if (text != nullptr) {
    if (text->as_string() == nullptr) return bad(fmt::format("text must be a string, not {}", text->kind_phrase()));
    return *text->as_string();
  }
  if (lines->as_array() == nullptr) return bad(fmt::format("lines must be an array, not {}", lines->kind_phrase()));
  std::string joined;
  for (const Value& line : *lines->as_array()) {
    if (line.as_string() == nullptr) return bad(fmt::format("a line must be a string, not {}", line.kind_phrase()));
    joined += *line.as_string() + "\n";
  }
  return joined;
}

HttpResponse take_log(const Visit& visit) {
  auto text = parse_log(visit.request.body);
  if (!text) return problem(text.error());
  if (text->empty()) return no_content({});
  const LogChunk chunk{LogStream::kOut, *std::move(text)};
  return no_content(visit.queue.append_log(visit.claimed.lease, std::span(&chunk, 1)));
}

HttpResponse take_checkpoint(const Visit& visit) {
  const auto value = json::compact(visit.request.body);
  if (!value) return problem(value.error());
  return no_content(visit.queue.checkpoint(visit.claimed.lease, *value));
}

// The worker reads what the agents of presets used; only programs that are trusted to count it say it themselves.
HttpResponse take_usage(const Visit& visit) {
  if (visit.usage == UsageAtDoor::kRefused) {
    return problem(Error{ErrorCode::kForbidden,
                         fmt::format("this program may not say what it used; allow it with reports_usage: true in "
                                     "local.runners.{} of the worker's drover.yaml",
                                     visit.claimed.task.type),
                         {}});
  }
  json::Reader body(visit.request.body);
  Said<Usage> usage;
  body.need("usage", usage);
  if (const Status read = body.finish_strictly(); !read) return problem(read.error());
  const auto answer = visit.queue.report(visit.claimed.lease, {.usage = std::move(usage.what), .at_door = true});
  if (!answer) return problem(answer.error());
  visit.will.stop = answer->stop;
  return no_content({});
}

struct ReportedClass {
  ErrorClass value = ErrorClass::kAgentError;
};

Status read_json(std::string_view json, ReportedClass& out) {
  std::string name;
  TRY(json::read_json(json, name));
  out.value = TRY(parse_reported_class(name));
  return {};
}

// Seconds, as a Retry-After header has them, or a duration as it is written elsewhere.
struct RetryAfter {
  Millis value{0};
};

Status read_json(std::string_view json, RetryAfter& out) {
  constexpr std::int64_t kSecondsMax = std::chrono::floor<std::chrono::seconds>(kDurationMax).count();
  std::string duration;
  std::int64_t seconds = 0;
  if (json::read_json(json, duration)) {
    out.value = TRY(parse_duration(duration));
  } else if (json::read_json(json, seconds) && seconds >= 0 && seconds <= kSecondsMax) {
    out.value = std::chrono::seconds(seconds);
  } else {
    return bad("expected a duration, like \"30s\", or a whole number of seconds");
  }
  return {};
}

Result<Failure> parse_failure(std::string_view body) {
  ReportedClass error_class;
  std::optional<RetryAfter> wait;
  Failure failure{.message = "the run reported that it failed"};
  json::Reader in(body);
  in.need("class", error_class).get("message", failure.message).get("note", failure.note).get("retry_after", wait);
  if (std::max(failure.message.size(), failure.note.value_or("").size()) > kFailureTextBytesMax)
    in.refuse(fmt::format("message and note have at most {} bytes each", kFailureTextBytesMax));
  TRY(in.finish_strictly());
  failure.error_class = error_class.value;
  if (wait) failure.retry_after = wait->value;
  return failure;
}

HttpResponse take_failure(const Visit& visit) {
  auto failure = parse_failure(visit.request.body);
  if (!failure) return problem(failure.error());
  visit.will.failure = *std::move(failure);
  return no_content({});
}

HttpResponse spawn_one(const Visit& visit, const Value& body) {
  const auto spec = parse_task_spec(body);
  if (!spec) return problem(spec.error());
  const auto enqueued = visit.queue.spawn(visit.claimed.lease, std::span(&*spec, 1));
  if (!enqueued) return problem(enqueued.error());
  return {.status = kCreated, .body = to_json(enqueued->front()) + "\n"};
}

HttpResponse spawn_group(const Visit& visit, const Value::Array& tasks) {
  std::vector<TaskSpec> group;
  for (const Value& task : tasks) {
    auto spec = parse_task_spec(task);
    if (!spec) {
      Error error = std::move(spec.error());
      error.message = fmt::format("tasks[{}]: {}", group.size(), error.message);
      return problem(error);
    }
    group.push_back(*std::move(spec));
  }
  const auto enqueued = visit.queue.spawn(visit.claimed.lease, group);
  if (!enqueued) return problem(enqueued.error());
  std::string body = "{\"tasks\":[";
  for (const Enqueued& item : *enqueued) {
    if (body.back() != '[') body += ',';
    body += to_json(item);
  }
  return {.status = kCreated, .body = body + "]}\n"};
}

HttpResponse spawn_tasks(const Visit& visit) {
  const auto body = json::parse(visit.request.body);
  if (!body) return problem(body.error());
  const Value* tasks = body->find("tasks");
  if (tasks == nullptr) return spawn_one(visit, *body);
  if (const auto whole = parse_object(visit.request.body, {"tasks"}); !whole) return problem(whole.error());
  if (tasks->as_array() == nullptr || tasks->as_array()->empty()) {
    return problem(Error{ErrorCode::kInvalidArgument, "tasks must be an array with at least one task", {}});
  }
  return spawn_group(visit, *tasks->as_array());
}

// ---- questions

constexpr std::string_view kQuestionsPath = "/v1/task/questions";
constexpr std::string_view kAnswerSuffix = "/answer";

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

// The id in /v1/task/questions/{id}, or in /v1/task/questions/{id}/answer.
Result<QuestionId> question_in(std::string_view target) {
  std::string_view path = path_of(target);
  if (path.ends_with(kAnswerSuffix)) path.remove_suffix(kAnswerSuffix.size());
  path.remove_prefix(std::min(path.size(), kQuestionsPath.size() + 1));
  const auto id = QuestionId::parse(path);
  if (!id) return fail(ErrorCode::kNotFound, fmt::format("this task has asked no question {}", quoted_excerpt(path)));
  return *id;
}

HttpResponse take_question(const Visit& visit) {
  json::Reader in(visit.request.body);
  QuestionSpec spec;
  std::optional<std::string> wait;
  read_question(in, spec).get("wait", wait);
  if (const Status read = in.finish_strictly(); !read) return problem(read.error());
  const auto patience = wait ? parse_duration(*wait) : Result<Millis>(kAnswerWait);
  if (!patience) return problem(Error{ErrorCode::kInvalidArgument, "wait: " + patience.error().message, {}});
  const auto question = visit.queue.ask(visit.claimed.lease, spec);
  if (!question) return problem(question.error());
  visit.will.hear(*question, *patience);
  return {.body = to_json(*question) + "\n"};
}

// Somebody else's question is not there, whatever its id.
HttpResponse show_question(const Visit& visit) {
  const auto id = question_in(visit.request.target);
  if (!id) return problem(id.error());
  const auto question = visit.queue.question(*id);
  if (!question) return problem(question.error());
  const TaskId& task = visit.claimed.task.id;
  if (question->task_id == task) visit.will.hear(*question);
  if (question->task_id == task || question->spawner == task) return {.body = to_json(*question) + "\n"};
  return problem(Error{ErrorCode::kNotFound, fmt::format("this task has asked no question {}", id->to_string()), {}});
}

HttpResponse list_own_questions(const Visit& visit) {
  const TaskId& task = visit.claimed.task.id;
  const auto asked = visit.queue.questions({.task_id = task}, kQuestionsOfTaskMax, std::nullopt);
  if (!asked) return problem(asked.error());
  const auto to_answer =
      visit.queue.questions({.state = QuestionState::kOpen, .spawner = task}, kQuestionsOfTaskMax, std::nullopt);
  if (!to_answer) return problem(to_answer.error());
  json::Writer out;
  out.begin_object().key("asked").begin_array();
  for (const Question& question : asked->questions) out.raw(to_json(question));
  out.end_array().key("to_answer").begin_array();
  for (const Question& question : to_answer->questions) out.raw(to_json(question));
  out.end_array().end_object();
  return {.body = std::move(out).take() + "\n"};
}

HttpResponse take_answer(const Visit& visit) {
  const auto id = question_in(visit.request.target);
  if (!id) return problem(id.error());
  json::Reader in(visit.request.body);
  JsonText value;
  in.need_any_text("value", value);
  if (const Status read = in.finish_strictly(); !read) return problem(read.error());
  const auto question = visit.queue.answer(*id, {.value = std::move(value), .spawner = visit.claimed.lease});
  if (!question) return problem(question.error());
  return {.body = to_json(*question) + "\n"};
}

struct Route {
  std::string_view method;
  std::string_view target;
  HttpResponse (*answer)(const Visit&);
};

constexpr std::array kRoutes{
    Route{"GET", "/v1/task", show_task},         Route{"POST", "/v1/task/progress", take_progress},
    Route{"POST", "/v1/task/log", take_log},     Route{"POST", "/v1/task/checkpoint", take_checkpoint},
    Route{"POST", "/v1/task/usage", take_usage}, Route{"POST", "/v1/task/fail", take_failure},
    Route{"POST", "/v1/task/wait", take_wait},   Route{"POST", "/v1/tasks", spawn_tasks},
};
constexpr Route kAskRoute{"POST", kQuestionsPath, take_question};
constexpr Route kOwnQuestionsRoute{"GET", kQuestionsPath, list_own_questions};
constexpr Route kQuestionRoute{"GET", "/v1/task/questions/{id}", show_question};
constexpr Route kAnswerRoute{"POST", "/v1/task/questions/{id}/answer", take_answer};
constexpr Route kParentRoute{"GET", "/v1/task/parents/{id or ref}/result", show_parent_result};
constexpr Route kDescendantRoute{"GET", "/v1/tasks/{id}", show_descendant};

const Route* question_route(std::string_view path, std::string_view method) {
  if (path == kQuestionsPath) return method == "GET" ? &kOwnQuestionsRoute : &kAskRoute;
  return path.ends_with(kAnswerSuffix) ? &kAnswerRoute : &kQuestionRoute;
}

const Route* route_of(std::string_view target, std::string_view method) {
  const std::string_view path = path_of(target);
  if (path == kQuestionsPath || (path.starts_with(kQuestionsPath) && path[kQuestionsPath.size()] == '/')) {
    return question_route(path, method);
  }
  if (parent_in(target)) return &kParentRoute;
  if (target.starts_with(kTasksPrefix)) return &kDescendantRoute;
  const auto* const found = std::ranges::find(kRoutes, target, &Route::target);
  return found != kRoutes.end() ? found : nullptr;
}

}  // namespace

HttpResponse answer_door(TaskQueue& queue, const ClaimedTask& claimed, UsageAtDoor usage, const HttpRequest& request,
                         LastWill& will) {
  const Route* route = route_of(request.target, request.method);
  if (route == nullptr) {
    return problem(Error{ErrorCode::kNotFound, fmt::format("a task's door has no {}", request.target), {}});
  }
  if (route->method != request.method) {
    const std::string what = fmt::format("{} takes {} only", route->target, route->method);
    return problem(kMethodNotAllowed, Error{ErrorCode::kInvalidArgument, what, {}});
  }
  try {
    return route->answer(Visit{queue, claimed, usage, request, will});
  } catch (const std::bad_alloc&) {  // one agent must not end the worker of the others
    return problem(Error{ErrorCode::kStoreUnavailable, "the worker has no memory for this; try again later", {}});
  }
}

void LastWill::add(const LastWill& later) {
  if (later.wait) wait = later.wait;
  if (later.failure) failure = later.failure;
  gives_way = gives_way || later.gives_way;
  for (const Asked& one : later.asked) {
    const auto known = std::ranges::find(asked, one.id, &Asked::id);
    if (known == asked.end()) {
      asked.push_back(one);
    } else {
      known->is_open = one.is_open;
    }
  }
}

void LastWill::hear(const Question& question, std::optional<Millis> patience) {
  LastWill later;
  later.asked.push_back({.id = question.id, .is_open = question.state == QuestionState::kOpen, .wait = patience});
  add(later);
  heard.push_back(question);
}

bool LastWill::has_open_question() const {
  return std::ranges::any_of(asked, &Asked::is_open);
}

Millis wait_of(const HttpRequest& request) {
  constexpr std::string_view kWait = "?wait=";
  const std::size_t at = request.target.find(kWait);
  if (request.method != "GET" || !request.target.starts_with(kQuestionsPath) || at == std::string::npos) {
    return Millis{0};
  }
  const auto wait = parse_duration(request.target.substr(at + kWait.size()));
  return wait ? std::clamp(*wait, Millis{0}, kDoorWaitMax) : Millis{0};
}

// The result of a run that suspends is dropped, so one that is too large is no reason to fail.
End with_will(End end, const LastWill& will) {
  const auto* failed = std::get_if<Failure>(&end);
  const auto* completed = std::get_if<Completion>(&end);
  if (failed == nullptr && completed == nullptr) return end;
  const std::optional<int> exit_code = completed != nullptr ? completed->exit_code : failed->exit_code;
  if (will.failure) {
    Failure failure = *will.failure;
    failure.exit_code = exit_code;
    return failure;
  }
  // What it asked is answered later: it goes on from there.
  const bool asks_by_code = failed != nullptr && exit_code == kExitAwaitsAnswer;
  const bool gives_way = asks_by_code || (completed != nullptr && will.gives_way);
  if (gives_way && will.has_open_question() && !will.wait) {
    return Suspend{.children = std::vector<TaskId>{}, .exit_code = exit_code};
  }
  const bool ends_well = completed != nullptr || failed->error_class == ErrorClass::kResultTooLarge;
  if (!will.wait || !ends_well) return end;
  return Suspend{.children = will.wait->children, .exit_code = exit_code};
}

}  // namespace drover
