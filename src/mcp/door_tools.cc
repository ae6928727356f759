#include "mcp/door_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"
#include "core/question_json.h"
#include "core/task_json.h"
#include "mcp/arguments.h"
#include "mcp/clean_text.h"
#include "mcp/task_view.h"
#include "mcp/wait_tasks.h"
#include "wire/read.h"

namespace drover::mcp {
namespace {

constexpr std::size_t kSpawnedMax = 50;
constexpr std::string_view kFirstLook = "20s";
constexpr std::size_t kOwnTaskBytesMax = 64 * 1024;

constexpr Tool kMyTask{
    .name = "my_task",
    .title = "Look at your own task",
    .description = "The task that you work on: prompt, payload, checkpoint, earlier runs, results of parents.",
    .properties = "{}",
    .required = "[]",
    .hints = kLooks};
constexpr Tool kReportProgress{
    .name = "report_progress",
    .title = "Report progress",
    .description = "Tell those who watch how far your task is.",
    .properties = R"({"percent":{"type":"integer","minimum":0,"maximum":100},"message":{"type":"string"}})",
    .required = R"(["percent"])",
    .hints = kSets};
constexpr Tool kSaveCheckpoint{
    .name = "save_checkpoint",
    .title = "Save a checkpoint",
    .description =
        "Keep a JSON value for the next run of your task, should this one be interrupted. It replaces the last one.",
    .properties = R"({"value":{"description":"Any JSON value"}})",
    .required = R"(["value"])",
    .hints = kSets};
constexpr Tool kSpawnTasks{
    .name = "spawn_tasks",
    .title = "Spawn tasks",
    .description =
        "Store child tasks of your task, all or none. With the same key, a repeat or a later run of your task gets "
        "the same children. Then use wait_tasks.",
    .properties =
        R"({"tasks":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"object","properties":{"type":{"type":"string"},)"
        R"("prompt":{"type":"string"},"payload":{},"priority":{"type":"integer","minimum":0,"maximum":9},)"
        R"("tags":{"type":"array","items":{"type":"string"}}},"required":["type"]}},"key":{"type":"string"}})",
    .required = R"(["tasks"])",
    .hints = kAdds};
constexpr Tool kAsk{
    .name = "ask",
    .title = "Ask a person",
    .description =
        "Ask a person, or with to: spawner the task that spawned yours. The answer may take long: if it is still open, "
        "end your turn. Your task is suspended, and goes on with the answer. The same text is the same question.",
    .properties = R"({"text":{"type":"string"},"options":{"type":"array","items":{"type":"string"},"maxItems":50},)"
                  R"("default":{"description":"Used if nobody answers in time"},)"
                  R"("expires":{"type":"string","description":"How long it may be open: \"1h\"; 7 days unless set"},)"
                  R"("to":{"type":"string","enum":["human","spawner"],"default":"human"},"key":{"type":"string"}})",
    .required = R"(["text"])",
    .hints = kSets};
constexpr Tool kGetSpawned{
    .name = "get_task",
    .title = "Look at a spawned task",
    .description = "State, result and error of a task that you spawned, or that one of those spawned.",
    .properties = R"({"task_id":{"type":"string"}})",
    .required = R"(["task_id"])",
    .hints = kLooks};
constexpr Tool kWaitSpawned{
    .name = "wait_tasks",
    .title = "Wait for spawned tasks",
    .description =
        "Wait until any or all of the tasks that you spawned have ended. Call it again with those "
        "that are pending.",
    .properties = R"({"task_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50},)"
                  R"("until":{"type":"string","enum":["any","all"],"default":"all"},)"
                  R"("timeout_seconds":{"type":"integer","minimum":0,"maximum":50,"default":25}})",
    .required = R"(["task_ids"])",
    .hints = kLooks};

ToolAnswer done() {
  return ToolResult{.json = R"({"ok":true})"};
}

// The text is cleaned as a whole: what others wrote stands in it, too.
Result<ToolAnswer> shown(std::string_view member, const std::string& text) {
  const auto value = TRY(json::parse(text));
  const std::string clean = json::dump(clean_value(value));
  json::Writer out;
  out.begin_object();
  if (clean.size() <= kOwnTaskBytesMax) {
    out.key(member).raw(clean);
  } else {
    out.key(fmt::format("{}_text", member)).string(first_bytes(clean, kOwnTaskBytesMax)).key("truncated").boolean(true);
  }
  out.key("untrusted").boolean(true).end_object();
  return ToolResult{.json = std::move(out).take()};
}

// Each child's request id: its place among those of the key.
Result<std::vector<TaskSpec>> read_children_of(const std::vector<json::Unread>& tasks,
                                               const std::optional<std::string>& key, const std::string& spawner) {
  if (tasks.empty() || tasks.size() > kSpawnedMax) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("tasks must have 1 to {} tasks, not {}", kSpawnedMax, tasks.size()));
  }
  std::vector<TaskSpec> specs;
  for (const json::Unread& task : tasks) {
    auto spec = parse_task_spec(task.text);
    if (!spec) return fail(spec.error().code, fmt::format("tasks[{}]: {}", specs.size(), spec.error().message));
    if (key && !spec->request_id) spec->request_id = fmt::format("{}:{}:{}", spawner, *key, specs.size());
    specs.push_back(*std::move(spec));
  }
  return specs;
}

}  // namespace

std::vector<Tool> DoorTools::tools() const {
  return {kMyTask, kReportProgress, kSaveCheckpoint, kSpawnTasks, kAsk, kGetSpawned, kWaitSpawned};
}

ToolAnswer DoorTools::call(const ToolCall& call) {
  using Method = Result<ToolAnswer> (DoorTools::*)(const ToolCall&);
  constexpr std::array<std::pair<std::string_view, Method>, 7> kMethods{{
      {kMyTask.name, &DoorTools::my_task},
      {kReportProgress.name, &DoorTools::report_progress},
      {kSaveCheckpoint.name, &DoorTools::save_checkpoint},
      {kSpawnTasks.name, &DoorTools::spawn_tasks},
      {kAsk.name, &DoorTools::ask_question},
      {kGetSpawned.name, &DoorTools::get_task},
      {kWaitSpawned.name, &DoorTools::wait_tasks},
  }};
  const auto* const found = std::ranges::find(kMethods, call.name, &std::pair<std::string_view, Method>::first);
  if (found == kMethods.end()) {
    return tool_error({ErrorCode::kNotFound, fmt::format("there is no tool {}", json::quote(call.name)), {}});
  }
  auto answer = (this->*found->second)(call);
  return answer ? *std::move(answer) : ToolAnswer(tool_error(answer.error()));
}

Result<ToolAnswer> DoorTools::my_task(const ToolCall& call) {
  TRY(json::Reader(call.arguments).finish_strictly());
  const auto task = TRY(ask_("GET", "/v1/task", ""));
  return shown("task", task);
}

Result<ToolAnswer> DoorTools::report_progress(const ToolCall& call) {
  TRY(ask_("POST", "/v1/task/progress", std::string(call.arguments)));
  return done();
}

Result<ToolAnswer> DoorTools::save_checkpoint(const ToolCall& call) {
  std::string value;
  json::Reader in(call.arguments);
  in.need_any_text("value", value);
  TRY(in.finish_strictly());
  TRY(ask_("POST", "/v1/task/checkpoint", value));
  return done();
}

Result<ToolAnswer> DoorTools::spawn_tasks(const ToolCall& call) {
  std::vector<json::Unread> tasks;
  std::optional<std::string> key;
  json::Reader in(call.arguments);
  in.need("tasks", tasks).get("key", key);
  TRY(in.finish_strictly());
  if (key && !is_name(*key)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("key: {} is not a name", quoted_excerpt(*key)));
  }
  const auto own = TRY(ask_("GET", "/v1/task", ""));
  std::string spawner;
  json::Reader task(own);
  task.need("id", spawner);
  TRY(task.finish());
  const auto specs = TRY(read_children_of(tasks, key, spawner));
  json::Writer body;
  body.begin_object().key("tasks").begin_array();
  for (const TaskSpec& spec : specs) body.raw(to_json(spec));
  body.end_array().end_object();
  const auto answer = TRY(ask_("POST", "/v1/tasks", std::move(body).take()));
  const auto value = TRY(json::parse(answer));
  json::Writer out;
  out.begin_object().key("tasks").begin_array();
  const json::Value* stored = value.find("tasks");
  if (stored == nullptr || stored->as_array() == nullptr) {
    return fail(ErrorCode::kStoreUnavailable, "the task's door gave an unreadable answer");
  }
  for (const json::Value& child : *stored->as_array()) {
    out.begin_object();
    for (const auto& [name, member] : *child.as_object())
      out.key(name == "id" ? "task_id" : name).raw(json::dump(member));
    out.end_object();
  }
  out.end_array().end_object();
  return ToolResult{.json = std::move(out).take()};
}

// A first look is worth a moment: whoever asks may have the answer at hand.
Result<ToolAnswer> DoorTools::ask_question(const ToolCall& call) {
  const auto asked = TRY(ask_("POST", "/v1/task/questions", std::string(call.arguments)));
  Question question;
  TRY(read_json(asked, question));
  if (question.state == QuestionState::kOpen) {
    const auto seen =
        TRY(ask_("GET", fmt::format("/v1/task/questions/{}?wait={}", question.id.to_string(), kFirstLook), ""));
    TRY(read_json(seen, question));
  }
  json::Writer out;
  out.begin_object().key("question_id").string(question.id.to_string()).key("state").string(name_of(question.state));
  if (question.answer) out.key("answer").raw(json::dump(clean_value(TRY(json::parse(*question.answer)))));
  if (question.answered_by) out.key("answered_by").string(clean_text(*question.answered_by));
  if (question.state == QuestionState::kOpen) {
    out.key("note").string("it is not answered yet: end your turn, and your task goes on once it is");
  }
  out.end_object();
  return ToolResult{.json = std::move(out).take()};
}

Result<Task> DoorTools::read_task(const TaskId& id) {
  const auto text = TRY(ask_("GET", fmt::format("/v1/tasks/{}", id.to_string()), ""));
  Task task;
  TRY(read_json(text, task));
  return task;
}

Result<ToolAnswer> DoorTools::get_task(const ToolCall& call) {
  const auto arguments = TRY(read_get(call.arguments));
  if (arguments.log || arguments.runs || arguments.explain) {
    return fail(ErrorCode::kInvalidArgument, "include: inside a task only the task itself is shown");
  }
  const auto task = TRY(read_task(arguments.id));
  json::Writer out;
  out.begin_object();
  write_task(out, task);
  out.end_object();
  return ToolResult{.json = std::move(out).take()};
}

Result<ToolAnswer> DoorTools::wait_tasks(const ToolCall& call) {
  const auto arguments = TRY(read_wait(call.arguments));
  return answer_wait(arguments, call.attempt, [this](const TaskId& id) { return read_task(id); });
}

}  // namespace drover::mcp
