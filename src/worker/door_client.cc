// The agent's side of the door.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "core/question_json.h"
#include "core/task_json.h"
#include "net/http_client.h"
#include "worker/door.h"

namespace drover {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr Millis kAnswerTimeout{30'000};
constexpr int kFirstBadStatus = 400;

std::unexpected<Error> unreachable(std::string_view why) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("the task's door does not answer: {}", why), "door");
}

}  // namespace

Result<std::string> door_request(const std::string& url, const std::string& method, const std::string& target,
                                 std::string body, Millis timeout) {
  if (!url.starts_with(kScheme)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not the address of a task's door (unix:PATH)", json::quote(url)));
  }
  HttpClient client({.transport = Endpoint::Transport::kUnix,
                     .path = url.substr(kScheme.size()),
                     .peer = "the task's door",
                     .url = url});
  const HttpRequest request{.method = method, .target = target, .body = std::move(body), .keep_alive = false};
  auto response = client.exchange(request, timeout);
  if (!response) return unreachable(response.error().message);
  if (response->status >= kFirstBadStatus) return std::unexpected(error_of_problem(*response));
  return std::move(response->body);
}

Status report_progress(const std::string& url, const Progress& progress) {
  json::Writer out;
  out.begin_object().key("percent").number(progress.percent).key("message").string(progress.message).end_object();
  TRY(door_request(url, "POST", "/v1/task/progress", std::move(out).take(), kAnswerTimeout));
  return {};
}

Status report_failure(const std::string& url, const Failure& failure) {
  json::Writer out;
  out.begin_object().key("class").string(name_of(failure.error_class)).key("message").string(failure.message);
  if (failure.retry_after) out.key("retry_after").string(format_duration(*failure.retry_after));
  if (failure.note) out.key("note").string(*failure.note);
  out.end_object();
  TRY(door_request(url, "POST", "/v1/task/fail", std::move(out).take(), kAnswerTimeout));
  return {};
}

Result<std::vector<Enqueued>> spawn_at_door(const std::string& url, std::span<const TaskSpec> children) {
  json::Writer out;
  out.begin_object().key("tasks").begin_array();
  for (const TaskSpec& child : children) out.raw(to_json(child));
  out.end_array().end_object();
  const auto answer = TRY(door_request(url, "POST", "/v1/tasks", std::move(out).take(), kAnswerTimeout));
  json::Reader in(answer);
  std::optional<std::string> tasks;
  in.get_text("tasks", tasks);
  TRY(in.finish());
  const std::string list = tasks.value_or("[]");
  const auto items = TRY(json::elements(list));
  std::vector<Enqueued> enqueued;
  for (const std::string_view item : items) {
    json::Reader fields(item);
    std::string state;
    Enqueued& one = enqueued.emplace_back();
    fields.need("id", one.id).need("state", state).need("deduplicated", one.deduplicated);
    TRY(fields.finish());
    one.state = parse_task_state(state).value_or(TaskState::kPending);
  }
  return enqueued;
}

Status wait_for_children(const std::string& url, const Suspend& suspend) {
  json::Writer out;
  out.begin_object().key("children");
  if (suspend.children) {
    out.begin_array();
    for (const TaskId& child : *suspend.children) out.string(child.to_string());
    out.end_array();
  } else {
    out.string("all");
  }
  out.end_object();
  TRY(door_request(url, "POST", "/v1/task/wait", std::move(out).take(), kAnswerTimeout));
  return {};
}

namespace {

Result<Question> question_of(const Result<std::string>& answer) {
  if (!answer) return std::unexpected(answer.error());
  Question question;
  TRY(read_json(*answer, question));
  return question;
}

}  // namespace

Result<Question> ask_at_door(const std::string& url, const QuestionSpec& spec, Millis wait) {
  std::string body = to_json(spec);
  body.pop_back();  // the closing brace: one more member follows
  body += fmt::format(R"(,"wait":"{}"}})", format_duration(wait));
  return question_of(door_request(url, "POST", "/v1/task/questions", std::move(body), kAnswerTimeout));
}

Result<Question> question_at_door(const std::string& url, const QuestionId& id, Millis wait) {
  const std::string target = fmt::format("/v1/task/questions/{}?wait={}", id.to_string(), format_duration(wait));
  return question_of(door_request(url, "GET", target, "", wait + kAnswerTimeout));
}

Result<bool> may_suspend_at_door(const std::string& url) {
  const auto task = TRY(door_request(url, "GET", "/v1/task", "", kAnswerTimeout));
  json::Reader in(task);
  bool at_most_once = false;
  in.need("at_most_once", at_most_once);
  TRY(in.finish());
  return !at_most_once;
}

Result<std::string> parent_result_at_door(const std::string& url, const std::string& id_or_ref) {
  auto result = door_request(url, "GET", fmt::format("/v1/task/parents/{}/result", id_or_ref), "", kAnswerTimeout);
  if (result && result->ends_with('\n')) result->pop_back();
  return result;
}

namespace {

// A parent of the list, with the result that was left out.
Result<std::string> whole_parent(const std::string& url, std::string_view parent) {
  json::Reader fields(parent);
  std::string id;
  bool truncated = false;
  fields.need("id", id).get("truncated", truncated);
  TRY(fields.finish());
  if (!truncated) return std::string(parent);
  const auto result = TRY(parent_result_at_door(url, id));
  const auto object = TRY(json::parse(parent));
  json::Writer out;
  out.begin_object();
  for (const auto& [name, value] : *object.as_object()) {
    out.key(name).raw(name == "result" ? result : name == "truncated" ? "false" : json::dump(value));
  }
  out.end_object();
  return std::move(out).take();
}

}  // namespace

Result<std::vector<std::string>> parents_at_door(const std::string& url) {
  const auto task = TRY(door_request(url, "GET", "/v1/task", "", kAnswerTimeout));
  json::Reader in(task);
  std::optional<std::string> parents;
  in.get_text("parents", parents);
  TRY(in.finish());
  const std::string list = parents.value_or("[]");
  const auto items = TRY(json::elements(list));
  std::vector<std::string> lines;
  for (const std::string_view parent : items) {
    auto line = whole_parent(url, parent);
    if (!line) return std::unexpected(line.error());
    lines.push_back(*std::move(line));
  }
  return lines;
}

}  // namespace drover
