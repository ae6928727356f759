// The protocol over the tools, with an engine in memory: both eras, every method, every tool.
#include "mcp/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "mcp/queue_tools.h"
#include "mcp/stdio.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"

namespace drover::mcp {
namespace {

using test::must;
using namespace std::chrono_literals;

const json::Value& at(const json::Value& value, std::string_view path) {
  static const json::Value nothing;
  const json::Value* found = &value;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    if (const json::Value::Array* items = found->as_array()) {
      const auto index = static_cast<std::size_t>(std::stoi(std::string(name)));
      if (index >= items->size()) return nothing;
      found = &(*items)[index];
    } else {
      found = found->find(name);
    }
    if (found == nullptr) return nothing;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return *found;
}

std::string text_at(const json::Value& value, std::string_view path) {
  const json::Value& found = at(value, path);
  return found.as_string() != nullptr ? *found.as_string() : json::dump(found);
}

class McpService : public ::testing::Test {
 protected:
  QueueTools tools(Allowed allowed = {}, CallerRights rights = {}) { return {engine_, allowed, rights}; }

  // The answer to one message, in the first attempt or in the last.
  Answer ask(const std::string& text, Toolset& tools, std::string& made, Attempt attempt = Attempt::kMayWait) {
    const auto request = read_request(text, nullptr);
    if (!request) return Service::refuse(request.error());
    return service_.answer(*request, tools, made, attempt);
  }
  json::Value answer(const std::string& text, Toolset& tools, Attempt attempt = Attempt::kLast) {
    std::string made;
    const Answer answer = ask(text, tools, made, attempt);
    const auto* response = std::get_if<Response>(&answer);
    EXPECT_NE(response, nullptr) << text;
    if (response == nullptr || response->body.empty()) return {};
    status_ = response->http_status;
    return must(json::parse(response->body));
  }
  json::Value answer(const std::string& text) {
    QueueTools all = tools({.cancel = true, .retry = true});
    return answer(text, all);
  }

  static std::string legacy(std::string_view method, std::string_view params = "{}") {
    return fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}})", method, params);
  }
  static std::string modern(std::string_view method, std::string_view params = "", bool knows_tasks = false) {
    return fmt::format(
        R"({{"jsonrpc":"2.0","id":"m","method":"{}","params":{{{}{}"_meta":{{)"
        R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}}}})",
        method, params, params.empty() ? "" : ",",
        knows_tasks ? R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})" : "{}");
  }
  static std::string call(std::string_view tool, const std::string& arguments) {
    return legacy("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
  }
  // What a tool says, for programs; also that the text is the same.
  json::Value said(std::string_view tool, const std::string& arguments, bool is_error = false) {
    const json::Value message = answer(call(tool, arguments));
    EXPECT_EQ(text_at(message, "result.isError"), is_error ? "true" : "false") << json::dump(message);
    const json::Value& content = at(message, "result.structuredContent");
    EXPECT_NE(content.as_object(), nullptr) << json::dump(message);
    EXPECT_EQ(text_at(message, "result.content.0.text"), json::dump(content));
    return content;
  }
  std::string error_code(std::string_view tool, const std::string& arguments) {
    return text_at(said(tool, arguments, true), "error.code");
  }

  TaskId enqueue(const TaskSpec& spec) { return must(engine_.enqueue_one(spec)).id; }
  Lease start() {
    return must(engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1})).at(0).lease;
  }
  void complete(const std::string& result) { must(engine_.complete(start(), {.result = result})); }

  static std::unique_ptr<Store> open_store(Clock& clock) {
    SqliteOptions options;
    options.clock = &clock;
    return must(open_sqlite(std::move(options)));
  }

  test::ManualClock clock_;
  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = open_store(clock_);
  Engine engine_{*store_, rng_};
  Service service_{"1.2.3"};
  int status_ = 0;
};

TEST_F(McpService, Discovers) {
  const json::Value message = answer(modern("server/discover"));
  EXPECT_EQ(text_at(message, "id"), "m");
  EXPECT_EQ(text_at(message, "result.resultType"), "complete");
  EXPECT_EQ(text_at(message, "result.supportedVersions"), R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26"])");
  EXPECT_EQ(text_at(message, "result.capabilities"),
            R"({"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})");
  EXPECT_EQ(text_at(message, "result.cacheScope"), "private");
  const json::Value* info = at(message, "result._meta").find("io.modelcontextprotocol/serverInfo");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(text_at(*info, "version"), "1.2.3");
}

TEST_F(McpService, Initializes) {
  const json::Value message = answer(legacy(
      "initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}})"));
  EXPECT_EQ(text_at(message, "result.protocolVersion"), "2025-06-18");
  EXPECT_EQ(text_at(message, "result.serverInfo.name"), "drover");
  EXPECT_EQ(text_at(message, "result.capabilities"), R"({"tools":{}})");
  EXPECT_EQ(at(message, "result.resultType"), json::Value());
  EXPECT_EQ(text_at(answer(legacy("initialize")), "error.code"), "-32602");
}

TEST_F(McpService, AnswersEachEraWithItsOwnMethods) {
  struct Method {
    std::string text;
    int code;  // 0: a result
    int status;
  };
  const Method cases[] = {
      {legacy("ping"), 0, 200},
      {legacy("tools/list"), 0, 200},
      {legacy("resources/list"), kMethodNotFound, 200},
      {legacy("tasks/get"), kMethodNotFound, 200},
      {modern("ping"), kMethodNotFound, 404},
      {modern("initialize", R"("protocolVersion":"2025-06-18")"), kMethodNotFound, 404},
      {modern("resources/list"), kMethodNotFound, 404},
      {modern("subscriptions/listen"), kMethodNotFound, 404},
      {modern("tasks/get"), kMissingCapability, 400},
      {modern("tasks/get", "", true), kInvalidParams, 200},
      {modern("tasks/get", R"("taskId":"0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d")", true), kInvalidParams, 200},
      {modern("tools/call", R"("name":"nothing")"), kInvalidParams, 200},
      {modern("tools/call", R"("name":"get_task","arguments":[])"), kInvalidParams, 200},
      {modern("tools/call"), kInvalidParams, 200},
  };
  for (const Method& one : cases) {
    const json::Value message = answer(one.text);
    EXPECT_EQ(at(message, "error.code").as_int().value_or(0), one.code) << one.text;
    EXPECT_EQ(status_, one.status) << one.text;
  }
}

TEST_F(McpService, ANotificationGetsNoAnswer) {
  QueueTools all = tools();
  std::string made;
  const Answer answer = ask(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", all, made);
  EXPECT_EQ(std::get<Response>(answer).body, "");
  EXPECT_EQ(std::get<Response>(answer).http_status, 202);
}

TEST_F(McpService, ListsTheToolsThatTheCallerMayUse) {
  const auto names = [&](Allowed allowed, CallerRights rights) {
    QueueTools some = tools(allowed, rights);
    const json::Value message = answer(legacy("tools/list"), some);
    std::string joined;
    for (const json::Value& tool : *at(message, "result.tools").as_array()) joined += text_at(tool, "name") + " ";
    return joined;
  };
  EXPECT_EQ(names({}, {}), "enqueue_task get_task wait_tasks list_tasks list_questions ");
  EXPECT_EQ(names({.cancel = true, .retry = true}, {}),
            "enqueue_task get_task wait_tasks list_tasks list_questions cancel_task retry_task ");
  EXPECT_EQ(names({.cancel = true, .retry = true}, {.operate = false}),
            "enqueue_task get_task wait_tasks list_tasks list_questions cancel_task ");
  EXPECT_EQ(names({.cancel = true, .retry = true}, {.produce = false, .operate = false}),
            "get_task wait_tasks list_tasks list_questions ");
  const json::Value message = answer(modern("tools/list"));
  EXPECT_GT(at(message, "result.ttlMs").as_int().value_or(0), 0);
  for (const json::Value& tool : *at(message, "result.tools").as_array()) {
    EXPECT_EQ(text_at(tool, "inputSchema.type"), "object");
    EXPECT_EQ(text_at(tool, "annotations.openWorldHint"), "false");
  }
  EXPECT_EQ(text_at(message, "result.tools.1.annotations.readOnlyHint"), "true");
  EXPECT_EQ(text_at(message, "result.tools.5.annotations.destructiveHint"), "true");
}

TEST_F(McpService, AToolThatIsNotAllowedIsUnknown) {
  QueueTools some = tools();
  const TaskId id = enqueue({.type = "work"});
  const json::Value message = answer(call("cancel_task", fmt::format(R"({{"task_id":"{}"}})", id.to_string())), some);
  EXPECT_EQ(text_at(message, "error.code"), "-32602");
  EXPECT_EQ(must(engine_.get(id)).state, TaskState::kPending);
}

TEST_F(McpService, EnqueuesWhatItIsGiven) {
  const TaskId parent = enqueue({.type = "work"});
  const json::Value content =
      said("enqueue_task",
           fmt::format(R"({{"type":"work","prompt":"do it","payload":{{"n":1.10}},"priority":2,"delay":"30s",)"
                       R"("depends_on":["{}"],"tags":["a"],"request_id":"r1"}})",
                       parent.to_string()));
  EXPECT_EQ(text_at(content, "state"), "blocked");
  const Task task = must(engine_.get(TaskId::parse(text_at(content, "task_id")).value()));
  EXPECT_EQ(task.prompt, "do it");
  EXPECT_EQ(task.payload, R"({"n":1.10})");
  EXPECT_EQ(task.priority, 2);
  EXPECT_EQ(task.tags, std::vector<std::string>{"a"});
  EXPECT_EQ(task.depends_on, std::vector{parent});
  EXPECT_EQ(task.request_id, "r1");
  EXPECT_EQ(task.run_at, task.created_at + 30s);
}

TEST_F(McpService, BadArgumentsAreToldToTheAgentAndChangeNothing) {
  for (const char* const arguments :
       {R"({})", R"({"type":""})", R"({"type":"work","unknown":1})", R"({"type":"work","priority":11})",
        R"({"type":"work","wait_seconds":51})", R"({"type":"work","wait_seconds":-1})",
        R"({"type":"work","delay":"soon"})", R"({"type":"work","delay":-1})", R"({"type":"work","depends_on":["x"]})",
        R"({"type":3})"}) {
    EXPECT_EQ(error_code("enqueue_task", arguments), "invalid_argument") << arguments;
  }
  for (const char* const arguments : {R"({"task_ids":[]})", R"({"task_ids":["x"]})", R"({})"}) {
    EXPECT_EQ(error_code("wait_tasks", arguments), "invalid_argument") << arguments;
  }
  EXPECT_EQ(error_code("list_tasks", R"({"limit":51})"), "invalid_argument");
  EXPECT_EQ(error_code("list_tasks", R"({"state":"asleep"})"), "invalid_argument");
  EXPECT_EQ(error_code("get_task", R"({"task_id":"0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d"})"), "not_found");
  EXPECT_TRUE(must(engine_.list({}, 10, std::nullopt)).tasks.empty());
}

TEST_F(McpService, WaitsForWhatItEnqueuedAndEnqueuesOnce) {
  QueueTools all = tools();
  std::string made;
  const std::string text = call("enqueue_task", R"({"type":"work","wait_seconds":10})");
  const Answer first = ask(text, all, made);
  const auto& waiting = std::get<Waiting>(first);
  EXPECT_EQ(waiting.at_most, 10s);
  ASSERT_EQ(waiting.tasks.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Waiting>(ask(text, all, made)));
  complete(R"({"ok":true})");
  const Answer last = ask(text, all, made);
  const json::Value message = must(json::parse(std::get<Response>(last).body));
  EXPECT_EQ(text_at(message, "result.structuredContent.state"), "completed");
  EXPECT_EQ(text_at(message, "result.structuredContent.result.ok"), "true");
  EXPECT_EQ(must(engine_.list({}, 10, std::nullopt)).tasks.size(), 1U);
}

TEST_F(McpService, AnEndlessWaitIsAnsweredAsItStands) {
  QueueTools all = tools();
  std::string made;
  const std::string text = call("enqueue_task", R"({"type":"work","wait_seconds":10})");
  ASSERT_TRUE(std::holds_alternative<Waiting>(ask(text, all, made)));
  const Answer last = ask(text, all, made, Attempt::kLast);
  const json::Value message = must(json::parse(std::get<Response>(last).body));
  EXPECT_EQ(text_at(message, "result.structuredContent.state"), "pending");
}

TEST_F(McpService, WaitsForAnyOrForAll) {
  const TaskId first = enqueue({.type = "work"});
  const TaskId second = enqueue({.type = "work"});
  const std::string ids = fmt::format(R"("task_ids":["{}","{}"])", first.to_string(), second.to_string());
  QueueTools all = tools();
  std::string made;
  const std::string for_all = call("wait_tasks", fmt::format("{{{}}}", ids));
  const std::string for_any = call("wait_tasks", fmt::format(R"({{{},"until":"any"}})", ids));
  EXPECT_EQ(std::get<Waiting>(ask(for_all, all, made)).tasks.size(), 2U);
  complete("1");
  const Answer still = ask(for_all, all, made);
  EXPECT_EQ(std::get<Waiting>(still).tasks, std::vector{second});
  EXPECT_EQ(std::get<Waiting>(still).done, 1);
  const json::Value any = answer(for_any, all, Attempt::kMayWait);
  EXPECT_EQ(text_at(any, "result.structuredContent.ended.0.task_id"), first.to_string());
  EXPECT_EQ(text_at(any, "result.structuredContent.pending.0.task_id"), second.to_string());
  EXPECT_EQ(text_at(any, "result.structuredContent.timed_out"), "false");
  const json::Value over = answer(for_all, all, Attempt::kLast);
  EXPECT_EQ(text_at(over, "result.structuredContent.timed_out"), "true");
  complete("2");
  EXPECT_EQ(text_at(answer(for_all, all, Attempt::kMayWait), "result.structuredContent.ended.1.result"), "2");
}

TEST_F(McpService, TextsOfTasksAreData) {
  const TaskId id = enqueue({.type = "work", .prompt = "see \x1b[31mred"});
  const Lease lease = start();
  must(engine_.append_log(lease, std::vector<LogChunk>{{LogStream::kOut, std::string(20'000, 'x') + "\x07 end"}}));
  must(engine_.complete(lease, {.result = json::quote("ignore \x1b"
                                                      "all\xe2\x80\xae " +
                                                      std::string(17'000, 'r'))}));
  const json::Value content =
      said("get_task", fmt::format(R"({{"task_id":"{}","include":["log","runs","explain"]}})", id.to_string()));
  EXPECT_EQ(text_at(content, "untrusted"), "true");
  EXPECT_EQ(text_at(content, "prompt"), "see [31mred");
  EXPECT_EQ(text_at(content, "result_truncated"), "true");
  EXPECT_EQ(text_at(content, "result_text").size(), kResultBytesMax);
  EXPECT_EQ(text_at(content, "log_tail").size(), kLogBytesMax);
  EXPECT_TRUE(text_at(content, "log_tail").ends_with("x end"));
  EXPECT_EQ(text_at(content, "runs.0.outcome"), "completed");
  EXPECT_EQ(text_at(content, "explain.reason"), "ended");
}

TEST_F(McpService, ListsAndPages) {
  for (int i = 0; i < 3; ++i) enqueue({.type = "work", .tags = {"t"}});
  enqueue({.type = "other"});
  const json::Value page = said("list_tasks", R"({"tag":"t","limit":2,"state":"pending"})");
  EXPECT_EQ(at(page, "tasks").as_array()->size(), 2U);
  const json::Value rest =
      said("list_tasks", fmt::format(R"({{"tag":"t","limit":2,"cursor":{}}})", json::quote(text_at(page, "cursor"))));
  EXPECT_EQ(at(rest, "tasks").as_array()->size(), 1U);
}

TEST_F(McpService, CancelsTwiceAndRetries) {
  const TaskId id = enqueue({.type = "work"});
  const std::string arguments = fmt::format(R"({{"task_id":"{}","reason":"enough"}})", id.to_string());
  EXPECT_EQ(text_at(said("cancel_task", arguments), "cancelled"), "1");
  const json::Value again = said("cancel_task", arguments);
  EXPECT_EQ(text_at(again, "cancelled"), "0");
  EXPECT_EQ(text_at(again, "state"), "cancelled");
  EXPECT_EQ(text_at(said("retry_task", arguments), "generation"), "2");
  EXPECT_EQ(error_code("retry_task", arguments), "wrong_state");
}

TEST_F(McpService, TheTasksExtensionFollowsATask) {
  QueueTools all = tools();
  const json::Value created =
      answer(modern("tools/call", R"("name":"enqueue_task","arguments":{"type":"work","wait_seconds":10})", true), all,
             Attempt::kMayWait);
  EXPECT_EQ(text_at(created, "result.resultType"), "task");
  EXPECT_EQ(text_at(created, "result.status"), "working");
  EXPECT_EQ(text_at(created, "result.ttlMs"), "null");
  const std::string id = text_at(created, "result.taskId");
  const std::string get = modern("tasks/get", fmt::format(R"("taskId":"{}")", id), true);
  EXPECT_EQ(text_at(answer(get, all), "result.status"), "working");
  const std::string update = modern("tasks/update", fmt::format(R"("taskId":"{}","inputResponses":{{}})", id), true);
  EXPECT_EQ(text_at(answer(update, all), "result.resultType"), "complete");
  const std::string cancel = modern("tasks/cancel", fmt::format(R"("taskId":"{}")", id), true);
  EXPECT_EQ(text_at(answer(cancel, all), "result.resultType"), "complete");
  EXPECT_EQ(text_at(answer(get, all), "result.status"), "working") << "nobody allowed it to cancel";
  must(engine_.fail(start(), {.error_class = ErrorClass::kInvalid, .message = "broke"}));
  const json::Value ended = answer(get, all);
  EXPECT_EQ(text_at(ended, "result.status"), "completed");
  EXPECT_EQ(text_at(ended, "result.result.isError"), "true");
  EXPECT_EQ(text_at(ended, "result.result.structuredContent.error.class"), "invalid");
  EXPECT_EQ(text_at(answer(cancel, all), "result.resultType"), "complete") << "to cancel it late is no error";
}

TEST_F(McpService, WithoutTheExtensionThereIsNoTask) {
  QueueTools all = tools();
  std::string made;
  EXPECT_TRUE(std::holds_alternative<Waiting>(
      ask(modern("tools/call", R"("name":"enqueue_task","arguments":{"type":"work","wait_seconds":10})"), all, made)));
}

}  // namespace
}  // namespace drover::mcp
