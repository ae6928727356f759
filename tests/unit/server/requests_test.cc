// What single requests mean, over HTTP.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"
#include "wire/write.h"

namespace drover::server {
namespace {

using test::must;

constexpr Millis kAnswerMax{30'000};

class Requests : public ::testing::Test {
 protected:
  HttpResponse ask(const std::string& method, const std::string& target, std::string body = {},
                   HttpHeaders headers = {}) {
    headers.emplace_back("host", "localhost");
    headers.emplace_back("authorization", "Bearer admin");
    return must(client_.exchange(
        {.method = method, .target = target, .body = std::move(body), .headers = std::move(headers)}, kAnswerMax));
  }
  HttpResponse enqueue(std::string body, const std::string& key) {
    return ask("POST", "/v1/tasks", std::move(body), {{"idempotency-key", key}});
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  HttpClient client_{must(parse_server_url(server_->addresses().front())).endpoint};
};

TEST_F(Requests, AnIdempotencyKeyNamesTheTask) {
  const HttpResponse first = enqueue(R"({"type":"work"})", "order-17");
  EXPECT_EQ(first.status, 201) << first.body;
  const HttpResponse again = enqueue(R"({"type":"work"})", "order-17");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(enqueue(R"({"type":"other"})", "order-17").status, 409);
  EXPECT_EQ(must(engine_.list({}, 10, {})).tasks.size(), 1U);
}

TEST_F(Requests, AWorkersTokenDoesNotTouchTheWorkersOfOthers) {
  must(engine_.register_worker({.id = "theirs", .serves = {{.queue = "work"}}, .token_id = "another"}));
  const HttpHeaders worker{{"authorization", "Bearer worker"}, {"host", "localhost"}};
  const auto as_worker = [&](const std::string& method, const std::string& target, const std::string& body) {
    return must(client_.exchange({.method = method, .target = target, .body = body, .headers = worker}, kAnswerMax));
  };
  EXPECT_EQ(as_worker("DELETE", "/v1/workers/theirs", "").status, 404);
  EXPECT_EQ(as_worker("DELETE", "/v1/workers/nobody", "").status, 404);
  EXPECT_EQ(as_worker("POST", "/v1/workers/theirs/heartbeat", R"({"leases":[]})").status, 404);
  EXPECT_EQ(as_worker("POST", "/v1/workers/theirs/claim", R"({"serves":[{"queue":"work"}]})").status, 404);
  EXPECT_EQ(as_worker("POST", "/v1/workers", to_json(WorkerInfo{.id = "theirs", .serves = {{.queue = "work"}}})).status,
            403);
  EXPECT_EQ(must(engine_.workers()).front().token_id, "another");
  EXPECT_EQ(as_worker("POST", "/v1/workers", to_json(WorkerInfo{.id = "mine", .serves = {{.queue = "work"}}})).status,
            204);
  EXPECT_EQ(as_worker("DELETE", "/v1/workers/mine", "").status, 204);
}

TEST_F(Requests, ATaskContinuesTheTraceOfItsRequest) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const HttpHeaders headers{{"idempotency-key", "order-17"}, {"traceparent", trace}};
  ASSERT_EQ(ask("POST", "/v1/tasks", R"({"type":"work"})", headers).status, 201);
  EXPECT_EQ(must(engine_.list({}, 10, {})).tasks.front().traceparent, trace);
  // Asked again within another trace it is still the same request.
  EXPECT_EQ(enqueue(R"({"type":"work"})", "order-17").status, 200);
}

TEST_F(Requests, AnIdempotencyKeyNamesTheTasksOfABatchByTheirPlace) {
  const std::string batch = R"({"tasks":[{"type":"work"},{"type":"work"}]})";
  const HttpResponse first = enqueue(batch, "order-17");
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(enqueue(batch, "order-17").status, 200);
  EXPECT_EQ(must(engine_.list({}, 10, {})).tasks.size(), 2U);
}

// Neither a longer nor a shorter one, nor the same tasks in another order, nor one task instead of a batch.
TEST_F(Requests, AnotherBatchUnderAnIdempotencyKeyIsAConflictAndChangesNothing) {
  const std::string batch = R"({"tasks":[{"type":"a"},{"type":"b","ref":"x"},{"type":"c","depends_on":["@x"]}]})";
  ASSERT_EQ(enqueue(batch, "order-17").status, 201);
  for (const std::string other :
       {R"({"tasks":[{"type":"a"},{"type":"b","ref":"x"},{"type":"c","depends_on":["@x"]},{"type":"d"}]})",
        R"({"tasks":[{"type":"a"},{"type":"b"}]})", R"({"tasks":[{"type":"a"}]})", R"({"type":"a"})",
        R"({"tasks":[{"type":"b"},{"type":"a"}]})",
        R"({"tasks":[{"type":"a","ref":"x"},{"type":"b"},{"type":"c","depends_on":["@x"]}]})"}) {
    const HttpResponse refused = enqueue(other, "order-17");
    EXPECT_EQ(refused.status, 409) << other << refused.body;
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kRequestConflict) << other << refused.body;
  }
  EXPECT_EQ(must(engine_.list({}, 10, {})).tasks.size(), 3U);
  EXPECT_EQ(enqueue(batch, "order-17").status, 200);
  ASSERT_EQ(enqueue(R"({"type":"a"})", "order-18").status, 201);
  EXPECT_EQ(enqueue(R"({"tasks":[{"type":"a"},{"type":"b"}]})", "order-18").status, 409);
  EXPECT_EQ(must(engine_.list({}, 10, {})).tasks.size(), 4U);
}

// Whoever sends one believes that the request may be repeated.
TEST_F(Requests, AnIdempotencyKeyThatIsNoNameIsRefused) {
  for (const std::string key : {"", "a b", "a#b"}) {
    const HttpResponse refused = enqueue(R"({"type":"work"})", key);
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kInvalidArgument) << refused.body;
  }
  EXPECT_TRUE(must(engine_.list({}, 10, {})).tasks.empty());
}

TEST_F(Requests, AReportSaysOnlyWhatIsKnown) {
  must(engine_.enqueue_one({.type = "work"}));
  must(engine_.register_worker({.id = "w", .version = "1", .serves = {{.queue = "work"}}}));
  const Lease lease = must(engine_.claim({.worker_id = "w", .serves = {{.queue = "work"}}})).front().lease;
  const auto say = [&](const std::string& verb, const std::string& members) {
    return ask("POST", fmt::format("/v1/tasks/{}/{}", lease.task.to_string(), verb),
               fmt::format(R"({{"lease_id":"{}",{}}})", lease.id.to_string(), members));
  };
  for (const char* bad :
       {R"("usage":{"input":1})", R"("usage":{"models":{"m":{"turns":1}}})", R"("usage":{"models":{"":{}}})",
        R"("usage":{"models":{"a\u0007":{}}})", R"("usage":{"turns":-1})", R"("usage":{"turns":1000000000001})",
        R"("agent":{"preset":"claude","mood":1})", R"("agent":{"preset":"claude","totals":{"mood":1}})",
        R"("agent":{"preset":"claude","session_id":"-p"})", R"("agent":{"preset":"claude","model":"-p"})"}) {
    for (const char* verb : {"usage", "complete"}) {
      const HttpResponse answer = say(verb, bad);
      EXPECT_EQ(answer.status, 400) << verb << " " << bad;
      EXPECT_TRUE(answer.body.contains("invalid_argument")) << answer.body;
    }
  }
  EXPECT_EQ(say("complete", R"("evidence":{"duration_ms":9000000000000000})").status, 400);
  EXPECT_EQ(must(engine_.get(lease.task)).usage, std::nullopt);
  EXPECT_EQ(say("usage", R"("usage":{"input_tokens":9,"turns":2})").status, 204);
  EXPECT_EQ(say("usage", R"("usage":{"input_tokens":7,"turns":3})").status, 204);
  EXPECT_TRUE(must(engine_.get(lease.task)).usage.value_or("").starts_with(R"({"input_tokens":9,)"));
  const HttpResponse metrics = ask("GET", "/metrics");
  EXPECT_TRUE(metrics.body.contains("# TYPE drover_agent_tokens gauge\n")) << metrics.body;
  EXPECT_TRUE(metrics.body.contains("drover_agent_tokens{runner=\"\",kind=\"input\"} 9\n")) << metrics.body;
}

TEST_F(Requests, AQuestionForUsageThatMakesNoSenseIsRefused) {
  for (const char* bad : {"owner=a/b", "type=%00", "by=day&by=owner", "by=moon", "to=2026-02-30", "from=9999-12-32"}) {
    EXPECT_EQ(ask("GET", std::string("/v1/usage?") + bad).status, 400) << bad;
  }
  for (const char* good : {"to=9999-12-31", "from=0001-01-01", "by=day,owner&owner=ann&type=fix"}) {
    EXPECT_EQ(ask("GET", std::string("/v1/usage?") + good).status, 200) << good;
  }
}

TEST_F(Requests, AConditionThatIsNoneIsRefused) {
  const TaskId id = must(engine_.enqueue_one({.type = "work"})).id;
  for (const std::string condition : {"", "abc", "\"", "\"a\", \"b\""}) {
    const HttpResponse refused =
        ask("PATCH", "/v1/tasks/" + id.to_string(), R"({"priority":1})", {{"if-match", condition}});
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kInvalidArgument) << condition << " " << refused.body;
  }
  EXPECT_EQ(must(engine_.get(id)).priority, 5);
}

TEST_F(Requests, ABatchIsAsLargeAsTheQueueTakes) {
  EXPECT_EQ(error_of_problem(ask("POST", "/v1/tasks", R"({"tasks":[]})")).code, ErrorCode::kInvalidArgument);
  std::string batch = R"({"tasks":[{"type":"work"})";
  for (int i = 0; i < 10'000; ++i) batch += R"(,{"type":"work"})";
  const HttpResponse refused = ask("POST", "/v1/tasks", batch + "]}");
  EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kLimitExceeded) << refused.body;
}

// A page is read in pieces, and says the same as one that is not.
TEST_F(Requests, APageIsWholeHoweverLargeItsTasksAre) {
  const std::string large = '"' + std::string(100'000, 'x') + '"';
  for (int i = 0; i < 40; ++i) {
    must(engine_.enqueue_one({.type = "work", .payload = i % 3 == 0 ? std::optional(large) : std::nullopt}));
  }
  std::string query = "/v1/tasks?limit=25";
  std::optional<std::string> cursor;
  for (const std::size_t count : {25U, 15U}) {
    const HttpResponse response = ask("GET", query);
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.header("transfer-encoding"), "chunked");
    const TaskPage expected = must(engine_.list({}, 25, cursor));
    EXPECT_EQ(expected.tasks.size(), count);
    EXPECT_EQ(response.body, to_json(expected) + "\n");
    cursor = expected.cursor;
    if (cursor) query += "&cursor=" + *cursor;
  }
  EXPECT_EQ(ask("GET", "/v1/tasks?limit=25&type=nosuch").body, to_json(TaskPage{}) + "\n");
  EXPECT_EQ(ask("GET", "/v1/tasks?limit=1").header("content-length").empty(), false);
  for (const std::string limit : {"0", "1001", "100000"}) {
    const HttpResponse refused = ask("GET", "/v1/tasks?limit=" + limit);
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kInvalidArgument) << limit << refused.body;
  }
}

TEST_F(Requests, ABodyThatIsTooLargeIsSaidToBe) {
  const std::string payload = fmt::format(R"({{"type":"work","payload":"{}"}})", std::string(2'000'000, 'x'));
  for (const std::string& body : {payload, std::string(40'000'000, ' ')}) {
    HttpClient client{must(parse_server_url(server_->addresses().front())).endpoint};
    const HttpResponse refused = must(client.exchange(
        {.method = "POST",
         .target = "/v1/tasks",
         .body = body,
         .headers = {{"host", "localhost"}, {"authorization", "Bearer admin"}, {"content-type", "application/json"}}},
        kAnswerMax));
    EXPECT_EQ(refused.status, 413) << refused.body;
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kPayloadTooLarge) << refused.body;
  }
}

TEST_F(Requests, AProblemIsReadableWhateverItTellsOf) {
  for (const std::string target : {"/v1/workers/%FF/drain", "/v1/gates/%FF", "/v1/tasks/%FF/cancel"}) {
    const HttpResponse refused = ask("POST", target, R"({"action":"open"})");
    EXPECT_GE(refused.status, 400) << target;
    EXPECT_LT(refused.status, 500) << target;
    EXPECT_TRUE(json::parse(refused.body)) << target << " " << refused.body;
    EXPECT_TRUE(is_utf8(refused.body)) << target;
  }
}

}  // namespace
}  // namespace drover::server
