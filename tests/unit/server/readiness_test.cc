#include "server/readiness.h"

#include <gtest/gtest.h>

#include <future>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/fault_store.h"
#include "support/locked_rng.h"
#include "support/must.h"

namespace drover::server {
namespace {

using test::must;

constexpr Millis kReadyBound{30'000};
constexpr Millis kReadyTurn{20};

class ReadinessTest : public ::testing::Test {
 protected:
  // What is answered once the store has been looked at.
  HttpResponse answer(Readiness& readiness) {
    std::optional<HttpResponse> got;
    readiness.ask(system_clock().mono(), [&](HttpResponse response) { got = std::move(response); });
    const MonoTime end = system_clock().mono() + kReadyBound;
    while (!got && system_clock().mono() < end) loop_.run_once(kReadyTurn);
    return got.value_or(HttpResponse{.status = 0, .body = "no answer"});
  }

  EventLoop loop_;
};

TEST_F(ReadinessTest, IsReadyWhileTheStoreAnswers) {
  Readiness readiness(loop_, [] { return std::vector<Alert>{{.kind = AlertKind::kDeadLetter}}; });
  const HttpResponse response = answer(readiness);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"ready":true,"reasons":[]})");
}

TEST_F(ReadinessTest, IsNotReadyWhenNothingIsConsumedAlthoughWorkersAreFree) {
  Readiness readiness(loop_,
                      [] { return std::vector<Alert>{{.kind = AlertKind::kIdleWorkers, .subject = "queue:secret"}}; });
  const HttpResponse response = answer(readiness);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find(R"("code":"not_consumed")"), std::string::npos) << response.body;
  EXPECT_EQ(response.body.find("secret"), std::string::npos) << "asked without a token: no names";
}

TEST_F(ReadinessTest, IsNotReadyWhenTheStoreFails) {
  Readiness readiness(loop_, []() -> Result<std::vector<Alert>> {
    return fail(ErrorCode::kStoreUnavailable, "redis://secret is away");
  });
  const HttpResponse response = answer(readiness);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find(R"("code":"store_unavailable")"), std::string::npos) << response.body;
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
}

TEST_F(ReadinessTest, SaysWhyTheStoreCannotBeUsed) {
  const auto body_of = [this](ErrorCode code, std::string_view operation) {
    Readiness readiness(
        loop_, [=]() -> Result<std::vector<Alert>> { return fail(code, "/secret/drover.db", std::string(operation)); });
    const HttpResponse response = answer(readiness);
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(response.body.find("secret"), std::string::npos) << response.body;
    return response.body;
  };
  EXPECT_NE(body_of(ErrorCode::kStoreUnavailable, "").find("does not answer"), std::string::npos);
  EXPECT_NE(body_of(ErrorCode::kStoreUnavailable, Readiness::kWriteOperation).find("cannot be written"),
            std::string::npos);
  EXPECT_NE(body_of(ErrorCode::kStoreDamaged, "").find(R"("code":"store_damaged")"), std::string::npos);
  EXPECT_NE(body_of(ErrorCode::kSchemaTooNew, "").find(R"("code":"schema_too_new")"), std::string::npos);
  EXPECT_NE(body_of(ErrorCode::kDiskFull, Readiness::kWriteOperation).find(R"("code":"disk_full")"), std::string::npos);
}

TEST_F(ReadinessTest, IsNotReadyWhenTheStoreWentBackwards) {
  Readiness readiness(loop_,
                      []() -> Result<std::vector<Alert>> { return fail(ErrorCode::kStoreRegressed, "events 3 to 5"); });
  const HttpResponse response = answer(readiness);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find(R"("code":"store_regressed")"), std::string::npos) << response.body;
}

TEST_F(ReadinessTest, AStoreThatHangsIsWaitedForNoLongerThanItMay) {
  std::promise<void> hangs;
  Readiness readiness(loop_, [&]() -> Result<std::vector<Alert>> {
    hangs.get_future().wait();
    return std::vector<Alert>{};
  });
  int status = 0;
  const MonoTime now = system_clock().mono();
  readiness.ask(now, [&](const HttpResponse& response) { status = response.status; });
  EXPECT_EQ(readiness.tick(now), now + Readiness::kStoreAnswersWithin);
  EXPECT_EQ(status, 0);
  static_cast<void>(readiness.tick(now + Readiness::kStoreAnswersWithin));
  EXPECT_EQ(status, 503);
  hangs.set_value();
  EXPECT_EQ(answer(readiness).status, 200) << "and it comes back";
}

TEST_F(ReadinessTest, AServerThatGoesDownIsNotReady) {
  Readiness readiness(loop_, [] { return std::vector<Alert>{}; });
  EXPECT_EQ(answer(readiness).status, 200);
  readiness.stop();
  const HttpResponse response = answer(readiness);
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find(R"("code":"stopping")"), std::string::npos);
}

// Its callers wait at the door until it opens.
class StuckDoor final : public Doorkeeper {
 public:
  Result<Principal> principal(std::string_view /*token*/) override {
    arrived.set_value();
    opened.wait();
    return Principal{.token_id = "t", .role = Role::kAdmin, .owner = {}, .queues = {}};
  }

  std::promise<void> arrived;
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
};

TEST(HealthTest, AStoreThatAnswersAndCannotBeWrittenIsNotReady) {
  test::LockedRng rng(1);
  const auto store = must(open_sqlite(SqliteOptions{}));
  FaultStore fault(*store);
  Engine engine(fault, rng);
  LocalAdministration administration{fault, engine, rng};
  StuckDoor door;
  const auto server = must(Server::start(engine, administration, door, {.listen = {"127.0.0.1:0"}}));
  HttpClient client(must(parse_server_url(server->addresses().front())).endpoint);
  const auto ready = [&] {
    return must(
        client.exchange({.method = "GET", .target = "/readyz", .headers = {{"host", "localhost"}}}, kReadyBound));
  };
  fault.script(StoreCall::kTryWrite, {});
  const HttpResponse refused = ready();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("cannot be written"), std::string::npos) << refused.body;
  const MonoTime end = system_clock().mono() + kReadyBound;
  while (ready().status != 200 && system_clock().mono() < end) {
  }
  EXPECT_EQ(ready().status, 200) << "until a write works again";
}

TEST(HealthTest, AnswersWhileEveryThreadIsBusy) {
  test::LockedRng rng(1);
  const auto store = must(open_sqlite(SqliteOptions{}));
  Engine engine(*store, rng);
  LocalAdministration administration{*store, engine, rng};
  StuckDoor door;
  const auto server = must(Server::start(engine, administration, door, {.listen = {"127.0.0.1:0"}, .threads_max = 1}));
  HttpClient client(must(parse_server_url(server->addresses().front())).endpoint);
  const auto get = [&](const std::string& target) {
    return must(client.exchange({.method = "GET", .target = target, .headers = {{"host", "localhost"}}}, kReadyBound));
  };
  std::jthread stuck([&] { EXPECT_EQ(get("/v1/tasks").status, 200); });
  door.arrived.get_future().wait();
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  door.open.set_value();
}

}  // namespace
}  // namespace drover::server
