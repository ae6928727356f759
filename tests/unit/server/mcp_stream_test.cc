// A call over MCP that waits, of a client that asked for progress: its answer is a stream of events.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"

namespace drover::server {
namespace {

using test::must;

class McpStream : public ::testing::Test {
 protected:
  // A wait for a task that nobody runs.
  static HttpRequest wait_for(const TaskId& id, int seconds, std::string_view accept, std::string_view meta) {
    const std::string body =
        fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"wait_tasks","arguments":)"
                    R"({{"task_ids":["{}"],"timeout_seconds":{}}}{}}}}})",
                    id.to_string(), seconds, meta);
    HttpHeaders headers{
        {"host", "localhost"}, {"authorization", "Bearer producer:anna"}, {"accept", std::string(accept)}};
    return {.method = "POST", .target = "/mcp", .body = body, .headers = std::move(headers)};
  }
  TaskId new_task() { return must(engine_.enqueue_one({.type = "work", .owner = "anna"})).id; }
  HttpResponse wait(const std::string& accept, const std::string& meta) {
    return must(client_.exchange(wait_for(new_task(), 1, accept, meta), Millis{30'000}));
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  HttpClient client_{must(parse_server_url(server_->addresses().front())).endpoint};
};

constexpr std::string_view kBoth = "application/json, text/event-stream";
constexpr std::string_view kToken = R"(,"_meta":{"progressToken":"t"})";

TEST_F(McpStream, TellsHowFarItIsAndThenTheAnswer) {
  const HttpResponse response = wait(std::string(kBoth), std::string(kToken));
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.content_type.starts_with("text/event-stream")) << response.content_type;
  const std::size_t progress =
      response.body.find("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"");
  const std::size_t answer = response.body.find("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\"");
  EXPECT_EQ(progress, 0U) << response.body;
  ASSERT_NE(answer, std::string::npos) << response.body;
  EXPECT_NE(response.body.find(R"("timed_out":true)", answer), std::string::npos) << response.body;
  EXPECT_TRUE(response.body.ends_with("\n\n"));
  EXPECT_EQ(wait(std::string(kBoth), std::string(kToken)).status, 200) << "the connection goes on";
}

TEST_F(McpStream, IsForThoseOnlyWhoAskedForIt) {
  for (const auto& [accept, meta] :
       {std::pair{kBoth, std::string_view()}, std::pair{std::string_view("application/json"), kToken}}) {
    const HttpResponse response = wait(std::string(accept), std::string(meta));
    EXPECT_EQ(response.content_type, "application/json") << accept << meta;
    EXPECT_TRUE(response.body.starts_with(R"({"jsonrpc":"2.0","id":1,"result")")) << response.body;
  }
}

TEST_F(McpStream, AClientThatLeavesDuringAWaitLeavesItsTaskAlone) {
  const TaskId id = new_task();
  for (const auto& [accept, meta] :
       {std::pair{kBoth, kToken}, std::pair{std::string_view("application/json"), std::string_view()}}) {
    HttpClient leaves{must(parse_server_url(server_->addresses().front())).endpoint};
    EXPECT_FALSE(leaves.exchange(wait_for(id, 50, accept, meta), Millis{200}).has_value());
  }
  EXPECT_EQ(must(engine_.get(id)).state, TaskState::kPending);
  EXPECT_EQ(wait(std::string(kBoth), std::string(kToken)).status, 200) << "others are served";
  const MonoTime before = system_clock().mono();
  server_.reset();
  EXPECT_LT(system_clock().mono() - before, Millis{20'000}) << "nobody waits for those who have left";
}

}  // namespace
}  // namespace drover::server
