#include "server/limits.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"

namespace drover::server {
namespace {

constexpr std::string_view kFar = "192.0.2.7";
constexpr MonoTime kStart{Millis{1'000'000}};

int failures_until_refused(Limiter& limiter, std::string_view peer, int at_most) {
  for (int i = 0; i < at_most; ++i) {
    if (limiter.refuse(peer, "guess " + std::to_string(i), kStart)) return i;
    limiter.note_failure(peer, kStart);
  }
  return at_most;
}

TEST(Limits, GuessingTokensSlowsDownAndTimeForgives) {
  Limiter limiter(RequestLimits{});
  EXPECT_EQ(failures_until_refused(limiter, kFar, 100), 10);
  EXPECT_EQ(limiter.refuse(kFar, "guess", kStart), Millis{6'000});
  EXPECT_EQ(limiter.refuse(kFar, "guess", kStart + Millis{6'000}), std::nullopt);
  limiter.note_failure(kFar, kStart + Millis{6'000});
  EXPECT_EQ(limiter.refuse(kFar, "guess", kStart + Millis{6'000}), Millis{6'000});
  EXPECT_EQ(limiter.refuse("192.0.2.8", "guess", kStart), std::nullopt) << "a neighbour is somebody else";
}

TEST(Limits, AGoodTokenPassesWhateverItsNeighboursTry) {
  Limiter limiter(RequestLimits{});
  limiter.note_success("good", kStart);
  failures_until_refused(limiter, kFar, 100);
  EXPECT_EQ(limiter.refuse(kFar, "good", kStart), std::nullopt);
  EXPECT_NE(limiter.refuse(kFar, "other", kStart), std::nullopt);
}

TEST(Limits, RequestsByToken) {
  Limiter limiter({.by_token = {.per_second = 10, .burst = 5}});
  limiter.note_success("good", kStart);
  limiter.note_success("other", kStart);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limiter.refuse(kFar, "good", kStart), std::nullopt);
  EXPECT_EQ(limiter.refuse(kFar, "good", kStart), Millis{100});
  EXPECT_EQ(limiter.refuse(kFar, "other", kStart), std::nullopt);
  EXPECT_EQ(limiter.refuse(kFar, "good", kStart + Millis{100}), std::nullopt);
}

TEST(Limits, RequestsWithoutATokenByAddress) {
  Limiter limiter({.without_token = {.per_second = 1, .burst = 2}, .local_factor = 2});
  EXPECT_EQ(limiter.refuse(kFar, "", kStart), std::nullopt);
  EXPECT_EQ(limiter.refuse(kFar, "", kStart), std::nullopt);
  EXPECT_EQ(limiter.refuse(kFar, "", kStart), Millis{1'000});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(limiter.refuse("127.0.0.1", "", kStart), std::nullopt);
  EXPECT_EQ(limiter.refuse("::1", "", kStart), Millis{500}) << "this machine is one address";
}

TEST(Limits, TheTableIsBounded) {
  Limiter limiter({.failures = {.per_second = 1, .burst = 2}, .callers_max = 100});
  for (int i = 0; i < 1'000; ++i) {
    const std::string peer = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
    static_cast<void>(limiter.refuse(peer, "guess", kStart));
    limiter.note_failure(peer, kStart);
  }
  EXPECT_LE(limiter.callers(), 103U);
  EXPECT_NE(limiter.refuse("10.9.9.9", "guess", kStart), std::nullopt) << "those for whom there is no room share one";
  EXPECT_EQ(limiter.refuse("10.9.9.9", "guess", kStart + Millis{60'000}), std::nullopt);
  EXPECT_LE(limiter.callers(), 103U);
}

TEST(Limits, NeighbourhoodsAreNetworks) {
  EXPECT_EQ(neighbourhood("127.0.0.5"), "local");
  EXPECT_EQ(neighbourhood("::1"), "local");
  EXPECT_EQ(neighbourhood("unix"), "local");
  EXPECT_EQ(neighbourhood("::ffff:127.0.0.1"), "local");
  EXPECT_EQ(neighbourhood("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(neighbourhood("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
}

class OneToken final : public Doorkeeper {
 public:
  Result<Principal> principal(std::string_view token) override {
    if (token != "good") return fail(ErrorCode::kUnauthorised, "no such token");
    return Principal{.token_id = "t", .role = Role::kAdmin, .owner = {}, .queues = {}};
  }
};

TEST(Limits, AServerTellsThoseWhoGuessWhenToComeBack) {
  test::LockedRng rng(1);
  const auto store = test::must(open_sqlite(SqliteOptions{}));
  Engine engine(*store, rng);
  LocalAdministration administration{*store, engine, rng};
  OneToken door;
  const RequestLimits limits{.failures = {.per_second = 0.001, .burst = 3}, .local_factor = 1};
  const auto server = test::must(
      Server::start(engine, administration, door, {.listen = {"127.0.0.1:0"}, .hosts = {}, .limits = limits}));
  HttpClient client(test::must(parse_server_url(server->addresses().front())).endpoint);
  const auto ask = [&](const std::string& token) {
    const HttpHeaders headers{{"host", "localhost"}, {"authorization", "Bearer " + token}};
    return test::must(
        client.exchange({.method = "GET", .target = "/v1/tasks", .body = {}, .headers = headers}, Millis{30'000}));
  };
  EXPECT_EQ(ask("good").status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("bad").status, 401);
  const HttpResponse refused = ask("bad");
  EXPECT_EQ(refused.status, 429);
  EXPECT_GT(std::stoi(std::string(refused.header("retry-after"))), 100);
  EXPECT_EQ(ask("good").status, 200);
}

}  // namespace
}  // namespace drover::server
