#include "mcp/queue_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "core/question_json.h"
#include "mcp/arguments.h"
#include "mcp/clean_text.h"
#include "mcp/task_view.h"
#include "mcp/wait_tasks.h"

namespace drover::mcp {
namespace {

constexpr Tool kEnqueueTask{
    .name = "enqueue_task",
    .title = "Enqueue a task",
    .description =
        "Store a task in the queue; a worker runs it later. With wait_seconds the answer waits for its end; a task "
        "that is not done by then goes on, and wait_tasks waits further. Give a request_id to make a repeat safe.",
    .properties =
        R"({"type":{"type":"string","description":"Kind of work; names the queue unless the operator set another"},)"
        R"("prompt":{"type":"string","description":"What an agent is to do"},)"
        R"("payload":{"description":"Any JSON value for the worker"},)"
        R"("priority":{"type":"integer","minimum":0,"maximum":9,"description":"0 first; 5 unless set"},)"
        R"("delay":{"type":["string","integer"],"description":"Not before: \"30s\", \"2h\", or seconds"},)"
        R"("depends_on":{"type":"array","items":{"type":"string"},"description":"Ids of tasks that must complete first"},)"
        R"("tags":{"type":"array","items":{"type":"string"}},)"
        R"("request_id":{"type":"string","description":"The same id and arguments give the same task"},)"
        R"("wait_seconds":{"type":"integer","minimum":0,"maximum":50}})",
    .required = R"(["type"])",
    .hints = kAdds};
constexpr Tool kGetTask{
    .name = "get_task",
    .title = "Look at a task",
    .description =
        "State, result and error of one task; on request the end of its log, its runs, and why it does not run.",
    .properties = R"({"task_id":{"type":"string"},)"
                  R"("include":{"type":"array","items":{"type":"string","enum":["log","runs","explain"]}}})",
    .required = R"(["task_id"])",
    .hints = kLooks};
constexpr Tool kWaitTasks{
    .name = "wait_tasks",
    .title = "Wait for tasks",
    .description =
        "Wait until any or all of the tasks have ended, then return their results. Use it instead of polling get_task; "
        "call it again with those that are pending.",
    .properties = R"({"task_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50},)"
                  R"("until":{"type":"string","enum":["any","all"],"default":"all"},)"
                  R"("timeout_seconds":{"type":"integer","minimum":0,"maximum":50,"default":25}})",
    .required = R"(["task_ids"])",
    .hints = kLooks};
constexpr Tool kListTasks{
    .name = "list_tasks",
    .title = "List tasks",
    .description = "Tasks, newest first, without their results.",
    .properties =
        R"({"state":{"type":"string","enum":["blocked","scheduled","pending","running","stalled","completed","failed",)"
        R"("cancelled"]},"type":{"type":"string"},"tag":{"type":"string"},)"
        R"("parent_id":{"type":"string","description":"Only children of this task"},)"
        R"("limit":{"type":"integer","minimum":1,"maximum":50,"default":20},)"
        R"("cursor":{"type":"string","description":"From the page before"}})",
    .required = "[]",
    .hints = kLooks};
constexpr Tool kCancelTask{
    .name = "cancel_task",
    .title = "Cancel a task",
    .description =
        "Cancel a task and what depends on it. One that runs is told to stop, and ends when its processes are dead.",
    .properties = R"({"task_id":{"type":"string"},"reason":{"type":"string"}})",
    .required = R"(["task_id"])",
    .hints = kEnds};
constexpr Tool kRetryTask{.name = "retry_task",
                          .title = "Retry a task",
                          .description = "Run a failed or cancelled task again, with all its attempts.",
                          .properties = R"({"task_id":{"type":"string"},"reason":{"type":"string"}})",
                          .required = R"(["task_id"])",
                          .hints = kAdds};

constexpr Tool kListQuestions{.name = "list_questions",
                              .title = "List open questions",
                              .description = "What tasks ask people and nobody has answered yet, newest first.",
                              .properties = R"({"task_id":{"type":"string","description":"Only those of this task"},)"
                                            R"("limit":{"type":"integer","minimum":1,"maximum":50,"default":20},)"
                                            R"("cursor":{"type":"string","description":"From the page before"}})",
                              .required = "[]",
                              .hints = kLooks};
constexpr Tool kAnswerQuestion{
    .name = "answer_question",
    .title = "Answer a question",
    .description = "Pass on the answer that a person gave to a question of a task. The first answer wins.",
    .properties =
        R"({"question_id":{"type":"string"},"value":{"description":"One of its options, or any JSON value"}})",
    .required = R"(["question_id","value"])",
    .hints = kSets};

constexpr int kLogPagesMax = 64;
constexpr Millis kTypeWaits{50'000};  // as long as the other tools wait at most
constexpr std::string_view kCaller = "an agent over MCP";

ToolAnswer said(json::Writer&& out) {
  return ToolResult{.json = std::move(out).take()};
}

bool is_done(const Task& task) {
  return is_terminal(task.state);
}

void write_stored(json::Writer& out, const Task& task, bool deduplicated) {
  out.begin_object();
  if (deduplicated) out.key("deduplicated").boolean(true);
  write_task(out, task);
  out.end_object();
}

}  // namespace

Result<TypeTool> parse_type_tool(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (name.empty() || name.size() > 128 || name.find_first_not_of(kLetters) != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "the name of a tool has 1 to 128 letters, digits, and _ . -");
  }
  for (const Tool& own : {kEnqueueTask, kGetTask, kWaitTasks, kListTasks, kCancelTask, kRetryTask}) {
    if (name == own.name) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is a tool of Drover's own", name));
  }
  TypeTool tool{.type = std::string(name)};
  if (colon == std::string_view::npos) return tool;
  const std::string_view word = text.substr(colon + 1);
  if (word != "never" && word != "required") {
    return fail(ErrorCode::kInvalidArgument, "expected TYPE, TYPE:never or TYPE:required");
  }
  tool.follow = word == "never" ? TypeTool::Follow::kNever : TypeTool::Follow::kRequired;
  return tool;
}

std::vector<Tool> QueueTools::tools() const {
  std::vector<Tool> all;
  if (rights_.produce) all.push_back(kEnqueueTask);
  if (rights_.read) all.insert(all.end(), {kGetTask, kWaitTasks, kListTasks, kListQuestions});
  if (rights_.produce && allowed_.cancel) all.push_back(kCancelTask);
  if (rights_.operate && allowed_.retry) all.push_back(kRetryTask);
  if (rights_.produce && allowed_.answer) all.push_back(kAnswerQuestion);
  if (!rights_.produce) return all;
  for (const TypeTool& tool : allowed_.types) {
    all.push_back({.name = tool.type,
                   .title = tool.type,
                   .description = "Run a task of this type and return its result. The arguments are its payload.",
                   .properties = "{}",
                   .required = "[]",
                   .hints = kAdds,
                   .takes_anything = true,
                   .needs_tasks = tool.follow == TypeTool::Follow::kRequired});
  }
  return all;
}

ToolAnswer QueueTools::call(const ToolCall& call) {
  using Method = Result<ToolAnswer> (QueueTools::*)(const ToolCall&);
  constexpr std::array<std::pair<std::string_view, Method>, 8> kMethods{{
      {kEnqueueTask.name, &QueueTools::enqueue_task},
      {kGetTask.name, &QueueTools::get_task},
      {kWaitTasks.name, &QueueTools::wait_tasks},
      {kListTasks.name, &QueueTools::list_tasks},
      {kCancelTask.name, &QueueTools::cancel_task},
      {kRetryTask.name, &QueueTools::retry_task},
      {kListQuestions.name, &QueueTools::list_questions},
      {kAnswerQuestion.name, &QueueTools::answer_question},
  }};
  const auto* const found = std::ranges::find(kMethods, call.name, &std::pair<std::string_view, Method>::first);
  const auto type = std::ranges::find(allowed_.types, call.name, &TypeTool::type);
  if (found == kMethods.end() && type == allowed_.types.end()) {
    return tool_error({ErrorCode::kNotFound, fmt::format("there is no tool {}", json::quote(call.name)), {}});
  }
  auto answer = found != kMethods.end() ? (this->*found->second)(call) : run_type(*type, call);
  return answer ? *std::move(answer) : ToolAnswer(tool_error(answer.error()));
}

// The first attempt stores it; later ones look at what that stored.
Result<Task> QueueTools::stored_task(const ToolCall& call, const TaskSpec& spec, bool& deduplicated) {
  if (const auto made = TaskId::parse(call.made)) return queue_.get(*made);
  const auto enqueued = TRY(queue_.enqueue_one(spec));
  call.made = enqueued.id.to_string();
  deduplicated = enqueued.deduplicated;
  return queue_.get(enqueued.id);
}

Result<ToolAnswer> QueueTools::enqueue_task(const ToolCall& call) {
  const auto arguments = TRY(read_enqueue(call.arguments));
  bool deduplicated = false;
  auto task = TRY(stored_task(call, arguments.spec, deduplicated));
  if (!is_done(task) && arguments.wait > Millis{0}) {
    if (call.knows_tasks) return TaskStored{std::move(task)};
    if (call.attempt == Attempt::kMayWait) {
      return Waiting{.tasks = {task.id}, .at_most = arguments.wait, .done = 0, .total = 1, .percent = percent_of(task)};
    }
  }
  json::Writer out;
  write_stored(out, task, deduplicated);
  const bool has_failed = arguments.wait > Millis{0} && task.state == TaskState::kFailed;
  return ToolResult{.json = std::move(out).take(), .is_error = has_failed};
}

// When its time is over it says what there is, as enqueue_task does: the task goes on, and wait_tasks waits further.
Result<ToolAnswer> QueueTools::run_type(const TypeTool& tool, const ToolCall& call) {
  bool deduplicated = false;
  auto task = TRY(stored_task(call, {.type = tool.type, .payload = JsonText(call.arguments)}, deduplicated));
  if (!is_done(task)) {
    if (call.knows_tasks && tool.follow != TypeTool::Follow::kNever) return TaskStored{std::move(task)};
    if (call.attempt == Attempt::kMayWait) {
      return Waiting{.tasks = {task.id}, .at_most = kTypeWaits, .done = 0, .total = 1, .percent = percent_of(task)};
    }
  }
  return result_of(task);
}

ToolResult QueueTools::result_of(const Task& task) {
  json::Writer out;
  write_stored(out, task, false);
  return {.json = std::move(out).take(), .is_error = task.state == TaskState::kFailed};
}

Result<std::string> QueueTools::log_tail(const TaskId& id) {
  std::string tail;
  std::int64_t after = 0;
  for (int page = 0; page < kLogPagesMax; ++page) {
    const auto log = TRY(queue_.log(id, after, kPageMax));
    if (log.records.empty()) break;
    for (const LogRecord& record : log.records) {
      // What an agent did, line by line in JSON, is no output.
      if (record.stream != LogStream::kTranscript) tail += record.text;
      after = record.seq;
    }
    tail = std::string(last_bytes(tail, 2 * kLogBytesMax));
  }
  return std::string(last_bytes(clean_text(tail), kLogBytesMax));
}

Result<ToolAnswer> QueueTools::get_task(const ToolCall& call) {
  const auto arguments = TRY(read_get(call.arguments));
  const auto task = TRY(queue_.get(arguments.id));
  json::Writer out;
  out.begin_object();
  write_task(out, task);
  if (arguments.log) {
    const auto tail = TRY(log_tail(task.id));
    out.key("log_tail").string(tail);
  }
  if (arguments.runs) {
    const auto runs = TRY(queue_.runs(task.id));
    write_runs(out, runs);
  }
  if (arguments.explain) {
    const auto explanation = TRY(queue_.explain(task.id));
    write_explanation(out, explanation);
  }
  out.end_object();
  return said(std::move(out));
}

Result<ToolAnswer> QueueTools::wait_tasks(const ToolCall& call) {
  const auto arguments = TRY(read_wait(call.arguments));
  return answer_wait(arguments, call.attempt, [this](const TaskId& id) { return queue_.get(id); });
}

Result<ToolAnswer> QueueTools::list_tasks(const ToolCall& call) {
  const auto arguments = TRY(read_list(call.arguments));
  const auto page = TRY(queue_.list_heads(arguments.filter, arguments.limit, arguments.cursor));
  json::Writer out;
  out.begin_object().key("tasks").begin_array();
  for (const Task& task : page.tasks) write_summary(out, task);
  out.end_array();
  if (page.cursor) out.key("cursor").string(*page.cursor);
  out.end_object();
  return said(std::move(out));
}

Result<ToolAnswer> QueueTools::cancel_task(const ToolCall& call) {
  const auto arguments = TRY(read_verdict(call.arguments));
  const auto outcome = queue_.cancel(arguments.id, arguments.reason.empty() ? std::string(kCaller) : arguments.reason);
  // One that has ended is as good as cancelled twice: the state says how it ended.
  if (!outcome && outcome.error().code != ErrorCode::kWrongState) return std::unexpected(outcome.error());
  const auto task = TRY(queue_.get(arguments.id));
  call.made = arguments.id.to_string();
  json::Writer out;
  out.begin_object().key("task_id").string(arguments.id.to_string()).key("state").string(name_of(task.state));
  out.key("cancelled").number(outcome ? outcome->cancelled : 0);
  out.key("told_to_stop").number(outcome ? outcome->requested : 0);
  if (!outcome) out.key("note").string("it had ended before");
  out.end_object();
  return said(std::move(out));
}

Result<ToolAnswer> QueueTools::retry_task(const ToolCall& call) {
  const auto arguments = TRY(read_verdict(call.arguments));
  RetryOrder order;
  order.verdict = {.by = std::string(kCaller), .why = arguments.reason};
  const auto task = TRY(queue_.retry(arguments.id, order));
  call.made = arguments.id.to_string();
  json::Writer out;
  out.begin_object().key("task_id").string(task.id.to_string()).key("state").string(name_of(task.state));
  out.key("generation").number(task.generation).end_object();
  return said(std::move(out));
}

Result<ToolAnswer> QueueTools::list_questions(const ToolCall& call) {
  QuestionFilter filter{.state = QuestionState::kOpen};
  int limit = kListedTasksDefault;
  std::optional<std::string> cursor;
  json::Reader in(call.arguments);
  in.get("task_id", filter.task_id).get("limit", limit).get("cursor", cursor);
  TRY(in.finish_strictly());
  if (limit < 1 || limit > kListedTasksMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("limit: expected 1 to {}", kListedTasksMax));
  }
  const auto page = TRY(queue_.questions(filter, limit, cursor));
  json::Writer out;
  out.begin_object().key("questions").begin_array();
  for (const Question& question : page.questions) {
    const auto value = TRY(json::parse(to_json(question)));
    out.raw(json::dump(clean_value(value)));
  }
  out.end_array();
  if (page.cursor) out.key("cursor").string(*page.cursor);
  out.key("untrusted").boolean(true).end_object();
  return said(std::move(out));
}

Result<ToolAnswer> QueueTools::answer_question(const ToolCall& call) {
  QuestionId id;
  JsonText value;
  json::Reader in(call.arguments);
  in.need("question_id", id).need_any_text("value", value);
  TRY(in.finish_strictly());
  const auto asked = TRY(queue_.question(id));
  if (asked.gate) {
    return fail(ErrorCode::kForbidden, fmt::format("only people decide on the budget of {}: drover question answer {}",
                                                   *asked.gate, id.to_string()));
  }
  const auto question = TRY(queue_.answer(id, {.value = std::move(value), .by = std::string(kCaller)}));
  call.made = id.to_string();
  json::Writer out;
  out.begin_object().key("question_id").string(id.to_string()).key("state").string(name_of(question.state));
  out.end_object();
  return said(std::move(out));
}

// Whoever may not cancel is heard, and nothing happens: that is for the server to decide.
Status QueueTools::cancel(const TaskId& id) {
  TRY(queue_.get(id));
  if (!allowed_.cancel) return {};
  const auto outcome = queue_.cancel(id, std::string(kCaller));
  if (!outcome && outcome.error().code != ErrorCode::kWrongState) return std::unexpected(outcome.error());
  return {};
}

}  // namespace drover::mcp
