// A store goes backwards under a server: whoever watches is told, and goes on with what is new.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "unit/server/named_door.h"
#include "unit/server/viewer.h"

namespace drover::server {
namespace {

using json::Value;
using test::must;

class LiveRegression : public ::testing::Test {
 protected:
  static std::unique_ptr<Store> open(const test::RedisServer& redis) {
    drover::RedisOptions options;
    options.address = redis.address();
    return must(open_redis(std::move(options)));
  }
  TaskId enqueue() { return must(engine_.enqueue_one({.type = "work", .owner = "anna"})).id; }
  HttpResponse ready() {
    HttpClient client(endpoint_);
    return must(
        client.exchange({.method = "GET", .target = "/readyz", .headers = {{"host", "localhost"}}}, kViewerHangs));
  }
  // Asks until the answer has that status, which it is not at once: one is good for a while.
  HttpResponse ready_with(int status) {
    const MonoTime end = system_clock().mono() + kViewerHangs;
    HttpResponse response = ready();
    while (response.status != status && system_clock().mono() < end) response = ready();
    return response;
  }

  test::RedisServer redis_;
  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = open(redis_);
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  Endpoint endpoint_ = must(parse_server_url(server_->addresses().front())).endpoint;
};

TEST_F(LiveRegression, WatchersOfAFlushedRedisAreToldAndGoOn) {
  for (int i = 0; i < 5; ++i) enqueue();
  Viewer socket = Viewer::of_socket(endpoint_, "?after=0&snapshot=false", bearer("operator"));
  Viewer stream = Viewer::of_stream(endpoint_, "?after=0&snapshot=false", bearer("operator"));
  Viewer owner = Viewer::of_socket(endpoint_, "?after=0", bearer("viewer:anna"));
  for (Viewer* viewer : {&socket, &stream, &owner}) {
    for (std::int64_t seq = 0; seq < 5;) seq = number(viewer->next("events"), "seq");
  }
  redis_.run(redis::Command("FLUSHALL"));
  const TaskId id = enqueue();
  for (Viewer* viewer : {&socket, &stream, &owner}) {
    const Value gap = viewer->next("gap");
    ASSERT_FALSE(gap.is_null());
    EXPECT_EQ(number(gap, "after"), 5);
    EXPECT_EQ(number(gap, "seq"), 0);
    const Value frame = viewer->next("events");
    ASSERT_FALSE(frame.is_null());
    ASSERT_EQ(frame.find("events")->as_array()->size(), 1U);
    EXPECT_EQ(text(frame.find("events")->as_array()->front(), "task_id"), id.to_string());
  }
}

TEST_F(LiveRegression, ATaskThatNobodyMayClaimIsExplainedSo) {
  enqueue();
  redis_.run(redis::Command("FLUSHALL"));
  const TaskId id = enqueue();
  must(engine_.set_gate(
      {.gate = "queue:work", .what = GateOrder::Close{.until = kUntilOpened}, .why = "", .by = "ann"}));
  const auto ask = [&] {
    HttpClient client(endpoint_);
    const HttpHeaders headers{{"host", "localhost"}, {"authorization", "Bearer operator"}};
    return must(json::parse(
        must(
            client.exchange({.method = "GET", .target = "/v1/tasks/" + id.to_string() + "/explain", .headers = headers},
                            kViewerHangs))
            .body));
  };
  const Value held = ask();
  EXPECT_EQ(text(held, "reason"), "store_regressed");
  EXPECT_TRUE(
      text(held, "text").starts_with("nothing is claimed: the store went backwards, acknowledged and gone: event 1;"))
      << text(held, "text");
  EXPECT_NE(text(held, "text").find("`drover store accept-regression`; then: queue:work is closed by ann"),
            std::string::npos)
      << text(held, "text");
  EXPECT_EQ(held.find("refusing")->as_array()->size(), 1U);
  must(administration_.accept_regression());
  EXPECT_EQ(text(ask(), "reason"), "gate");
}

TEST_F(LiveRegression, TheServerIsNotReadyUntilTheLossIsAccepted) {
  enqueue();
  EXPECT_EQ(ready_with(200).status, 200);
  redis_.run(redis::Command("FLUSHALL"));
  const HttpResponse response = ready_with(503);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find(R"("code":"store_regressed")"), std::string::npos) << response.body;
  enqueue();
  enqueue();
  EXPECT_EQ(must(administration_.store_state()).loss.value_or(Loss{}), (Loss{1, 1}));
  EXPECT_EQ(ready().status, 503) << "as many new events hide nothing";
  must(administration_.accept_regression());
  EXPECT_EQ(ready_with(200).status, 200);
}

// Reads go on: only a write tells.
TEST_F(LiveRegression, TheServerIsNotReadyWhileRedisTakesNoNewTasks) {
  enqueue();
  EXPECT_EQ(ready_with(200).status, 200);
  for (const auto& [refuse, take] :
       {std::pair{redis::Command("CONFIG", "SET", "maxmemory", "1"), redis::Command("CONFIG", "SET", "maxmemory", "0")},
        std::pair{redis::Command("REPLICAOF", "127.0.0.1", "1"), redis::Command("REPLICAOF", "NO", "ONE")},
        std::pair{redis::Command("CONFIG", "SET", "min-replicas-to-write", "1"),
                  redis::Command("CONFIG", "SET", "min-replicas-to-write", "0")}}) {
    redis_.run(refuse);
    const HttpResponse response = ready_with(503);
    EXPECT_EQ(response.status, 503);
    EXPECT_NE(response.body.find(R"("code":"store_unavailable")"), std::string::npos) << response.body;
    redis_.run(take);
    EXPECT_EQ(ready_with(200).status, 200);
  }
}

}  // namespace
}  // namespace drover::server
