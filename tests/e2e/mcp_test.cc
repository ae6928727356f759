// Agents over MCP: on standard input, over HTTP, and inside a task.
#include <fmt/format.h>

#include <csignal>
#include <fstream>

#include "e2e/serving.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

const json::Value& in(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Value nothing;
  const json::Value* found = &value;
  for (const std::string_view name : path) {
    if (found != nullptr) found = found->find(name);
  }
  return found != nullptr ? *found : nothing;
}

std::string message(int id, std::string_view method, const std::string& params = "{}") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method, params);
}

std::string call(int id, std::string_view tool, const std::string& arguments) {
  return message(id, "tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
}

std::string modern(int id, std::string_view method, const std::string& members = "") {
  return message(id, method,
                 fmt::format(R"({{{}{}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}})",
                             members, members.empty() ? "" : ","));
}

class McpTest : public ServingTest {
 protected:
  // What a process answers to these lines, one message each; nothing else may be on its stdout.
  std::vector<json::Value> talk(const Arguments& arguments, const std::vector<std::string>& lines) {
    std::string input;
    for (const std::string& line : lines) input += line + "\n";
    const Outcome outcome = sandbox.drover(arguments, input);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<json::Value> answers;
    std::string_view rest = outcome.out;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      answers.push_back(test::must(json::parse(rest.substr(0, end))));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return answers;
  }
  static const json::Value& said(const json::Value& answer) { return in(answer, {"result", "structuredContent"}); }

  HttpResponse post(const std::string& body, const std::string& token, HttpHeaders more = {},
                    const std::string& method = "POST") {
    HttpClient client(test::must(parse_server_url(url())).endpoint);
    HttpHeaders headers{{"host", address()}, {"content-type", "application/json"}};
    if (!token.empty()) headers.emplace_back("authorization", "Bearer " + token);
    for (auto& header : more) {
      std::erase_if(headers, [&](const auto& old) { return old.first == header.first; });
      headers.push_back(std::move(header));
    }
    return test::must(
        client.exchange({.method = method, .target = "/mcp", .body = body, .headers = std::move(headers)}, kHangs));
  }
};

TEST_F(McpTest, AnAgentEnqueuesAndWaitsOnStandardInput) {
  const Arguments mcp{"mcp", "--store", sandbox.store_url()};
  const auto first =
      talk(mcp, {message(1, "initialize", R"({"protocolVersion":"2025-06-18","capabilities":{}})"),
                 R"({"jsonrpc":"2.0","method":"notifications/initialized"})", "not JSON", message(2, "tools/list"),
                 call(3, "enqueue_task", R"({"type":"greet","payload":{"n":1.10}})")});
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(at(in(first[0], {"result"}), "protocolVersion"), "2025-06-18");
  EXPECT_EQ(at(in(first[1], {"error"}), "code"), "-32700");
  EXPECT_EQ(in(first[2], {"result", "tools"}).as_array()->size(), 5U);
  const std::string id = at(said(first[3]), "task_id");
  EXPECT_EQ(at(said(first[3]), "state"), "pending");
  work_until_empty("greet", agentsim({R"(print="hello")"}));
  const auto second = talk(
      mcp, {modern(1, "tools/call",
                   fmt::format(R"("name":"wait_tasks","arguments":{{"task_ids":["{}"],"timeout_seconds":50}})", id))});
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(at(said(second[0]), "timed_out"), "false");
  const json::Value& ended = in(said(second[0]), {"ended"}).as_array()->at(0);
  EXPECT_EQ(at(ended, "state"), "completed");
  EXPECT_EQ(at(ended, "result"), "hello");
  EXPECT_EQ(at(ended, "untrusted"), "true");
}

TEST_F(McpTest, TheStoreMustBeNamed) {
  sandbox.set("DROVER_STORE", sandbox.store_url());
  expect_refused(sandbox.drover({"mcp"}), 1, "invalid_argument");
}

TEST_F(McpTest, ACallThatWaitsAtTheEndOfTheInputIsAnsweredAsItStands) {
  const auto answers =
      talk({"mcp", "--store", sandbox.store_url()}, {call(1, "enqueue_task", R"({"type":"greet","wait_seconds":50})")});
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(at(said(answers[0]), "state"), "pending");
  EXPECT_EQ(test::must(json::parse(sandbox.must({"list", "--json"}))).as_array()->size(), 1U);
}

TEST_F(McpTest, OnlyWhatIsAllowedIsCancelled) {
  const std::string id = sandbox.enqueue({"greet"});
  const std::string cancel = call(1, "cancel_task", fmt::format(R"({{"task_id":"{}"}})", id));
  EXPECT_EQ(at(in(talk({"mcp", "--store", sandbox.store_url()}, {cancel}).at(0), {"error"}), "code"), "-32602");
  EXPECT_EQ(sandbox.state_of(id), "pending");
  EXPECT_EQ(at(said(talk({"mcp", "--store", sandbox.store_url(), "--allow", "cancel"}, {cancel}).at(0)), "cancelled"),
            "1");
  EXPECT_EQ(sandbox.state_of(id), "cancelled");
}

TEST_F(McpTest, OverHttpATokenSeesItsOwnersTasks) {
  const auto server = start_server();
  const std::string anna = create_token({"producer", "--owner", "anna"});
  const std::string ben = create_token({"producer", "--owner", "ben"});
  const HttpResponse stored = post(call(1, "enqueue_task", R"({"type":"greet"})"), anna);
  EXPECT_EQ(stored.status, 200) << stored.body;
  const std::string id = at(said(test::must(json::parse(stored.body))), "task_id");
  const std::string get = call(2, "get_task", fmt::format(R"({{"task_id":"{}"}})", id));
  EXPECT_EQ(at(said(test::must(json::parse(post(get, anna).body))), "state"), "pending");
  const json::Value hidden = test::must(json::parse(post(get, ben).body));
  EXPECT_EQ(at(in(hidden, {"result"}), "isError"), "true");
  EXPECT_EQ(at(in(said(hidden), {"error"}), "code"), "not_found");
}

TEST_F(McpTest, OverHttpAWaitEndsWithTheTask) {
  const auto server = start_server();
  const std::string token = create_token({"operator"});
  const auto worker = sandbox.start(work("greet", agentsim({R"(print="hello")"})));
  const HttpResponse done = post(call(1, "enqueue_task", R"({"type":"greet","wait_seconds":30})"), token);
  EXPECT_EQ(at(said(test::must(json::parse(done.body))), "state"), "completed") << done.body;
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(McpTest, OverHttpStrangersAndOtherMethodsAreRefused) {
  const auto server = start_server();
  const std::string token = create_token({"viewer"});
  const std::string list = message(1, "tools/list");
  EXPECT_EQ(post(list, "").status, 401);
  EXPECT_EQ(post(list, token, {{"host", "evil.example"}}).status, 421);
  EXPECT_EQ(post(list, token, {{"origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(post(list, token, {{"content-type", "text/plain"}}).status, 415);
  EXPECT_EQ(post("", token, {}, "GET").status, 405);
  EXPECT_EQ(post("", token, {}, "DELETE").status, 405);
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", token).status, 202);
  EXPECT_EQ(post("[]", token).status, 400);
  EXPECT_EQ(post(modern(1, "tools/list"), token).status, 400) << "its headers are missing";
  const HttpHeaders headers{{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/list"}};
  EXPECT_EQ(post(modern(1, "tools/list"), token, headers).status, 200);
  EXPECT_EQ(
      post(modern(1, "prompts/list"), token, {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "prompts/list"}})
          .status,
      404);
  EXPECT_EQ(post(list, create_token({"worker"})).status, 403);
}

TEST_F(McpTest, InsideATaskTheToolsAreThoseOfItsDoor) {
  const std::string stranger = sandbox.enqueue({"other"});
  const std::string id = sandbox.enqueue({"parent"});
  sandbox.write_file("lines", call(1, "my_task", "{}") + "\n" +
                                  call(2, "report_progress", R"({"percent":40,"message":"half"})") + "\n" +
                                  call(3, "save_checkpoint", R"({"value":{"page":7}})") + "\n" +
                                  call(4, "spawn_tasks", R"({"tasks":[{"type":"child"}],"key":"k"})") + "\n" +
                                  call(5, "spawn_tasks", R"({"tasks":[{"type":"child"}],"key":"k"})") + "\n" +
                                  call(6, "get_task", fmt::format(R"({{"task_id":"{}"}})", stranger)) + "\n");
  work_until_empty(
      "parent",
      {"/bin/sh", "-c", fmt::format("{} mcp < {} > {}", DROVER_BIN, sandbox.file("lines"), sandbox.file("answers"))});
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "completed") << sandbox.must({"logs", id});
  EXPECT_EQ(at(task, "progress"), R"({"percent":40,"message":"half"})");
  EXPECT_EQ(at(task, "checkpoint"), R"({"page":7})");
  const json::Value children = sandbox.must_json({"list", "--type", "child", "--json"});
  ASSERT_EQ(children.as_array()->size(), 1U);
  EXPECT_EQ(at(children.as_array()->front(), "parent_id"), id);
  const std::string answers = sandbox.must({"logs", id});
  std::ifstream file(sandbox.file("answers"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6U) << answers;
  EXPECT_EQ(at(in(said(test::must(json::parse(lines[0]))), {"task"}), "id"), id);
  EXPECT_EQ(at(in(said(test::must(json::parse(lines[5]))), {"error"}), "code"), "not_found");
}

}  // namespace
}  // namespace drover::e2e
