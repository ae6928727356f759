// What the door answers to each request.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "core/task_json.h"
#include "worker/door.h"

namespace drover {
namespace {

using json::Value;

constexpr int kCreated = 201;
constexpr int kNoContent = 204;
constexpr int kMethodNotAllowed = 405;

struct Visit {
  TaskQueue& queue;
  const ClaimedTask& claimed;
  const HttpRequest& request;
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
  return {.body = body + "]}\n"};
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

struct Route {
  std::string_view method;
  std::string_view target;
  HttpResponse (*answer)(const Visit&);
};

constexpr std::array kRoutes{
    Route{"GET", "/v1/task", show_task},     Route{"POST", "/v1/task/progress", take_progress},
    Route{"POST", "/v1/task/log", take_log}, Route{"POST", "/v1/task/checkpoint", take_checkpoint},
    Route{"POST", "/v1/tasks", spawn_tasks},
};

}  // namespace

HttpResponse answer_door(TaskQueue& queue, const ClaimedTask& claimed, const HttpRequest& request) {
  const auto route = std::ranges::find(kRoutes, std::string_view(request.target), &Route::target);
  if (route == kRoutes.end()) {
    return problem(Error{ErrorCode::kNotFound, fmt::format("a task's door has no {}", request.target), {}});
  }
  if (route->method != request.method) {
    return problem(
        kMethodNotAllowed,
        Error{ErrorCode::kInvalidArgument, fmt::format("{} takes {} only", route->target, route->method), {}});
  }
  try {
    return route->answer(Visit{queue, claimed, request});
  } catch (const std::bad_alloc&) {  // one agent must not end the worker of the others
    return problem(Error{ErrorCode::kStoreUnavailable, "the worker has no memory for this; try again later", {}});
  }
}

}  // namespace drover
