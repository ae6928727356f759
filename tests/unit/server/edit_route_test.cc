// PATCH /v1/tasks/{id}: what its two content types mean, and what the version is for.
#include <fmt/format.h>
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

class EditRoute : public ::testing::Test {
 protected:
  EditRoute() : client_(must(parse_server_url(server_->addresses().front())).endpoint) {
    id_ = must(engine_.enqueue_one({.type = "work", .payload = R"({"a":1,"b":2})", .tags = {"t"}})).id;
  }

  HttpResponse ask(const std::string& method, std::string body, HttpHeaders headers = {}) {
    headers.emplace_back("host", "localhost");
    headers.emplace_back("authorization", "Bearer admin");
    return must(client_.exchange({.method = method,
                                  .target = "/v1/tasks/" + id_.to_string(),
                                  .body = std::move(body),
                                  .headers = std::move(headers)},
                                 Millis{30'000}));
  }
  HttpResponse merge(std::string patch) {
    return ask("PATCH", std::move(patch), {{"content-type", "application/merge-patch+json; charset=utf-8"}});
  }
  Task task() { return must(engine_.get(id_)); }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  HttpClient client_;
  TaskId id_;
};

TEST_F(EditRoute, JsonReplacesThePayloadAndAMergePatchMergesIt) {
  EXPECT_EQ(merge(R"({"payload":{"a":null,"c":0.10},"priority":"high"})").status, 200);
  EXPECT_EQ(task().payload, R"({"b":2,"c":0.10})");
  EXPECT_EQ(task().priority, 2);
  EXPECT_EQ(ask("PATCH", R"({"payload":{"d":4},"priority":7})").status, 200);
  EXPECT_EQ(task().payload, R"({"d":4})");
  EXPECT_EQ(task().priority, 7);
  EXPECT_EQ(ask("PATCH", R"({"patch":{"e":5}})").status, 200);
  EXPECT_EQ(task().payload, R"({"d":4,"e":5})");
  EXPECT_EQ(merge(R"({"payload":[1]})").status, 200);
  EXPECT_EQ(task().payload, "[1]");
}

TEST_F(EditRoute, NullTakesAwayWhatCanBeTakenAway) {
  EXPECT_EQ(ask("PATCH", R"({"delay":"1h"})").status, 200);
  EXPECT_EQ(task().state, TaskState::kScheduled);
  EXPECT_EQ(merge(R"({"run_at":null,"tags":null})").status, 200);
  EXPECT_EQ(task().state, TaskState::kPending);
  EXPECT_TRUE(task().tags.empty());
  EXPECT_EQ(merge(R"({"payload":null})").status, 400);
  EXPECT_EQ(merge(R"({"priority":null})").status, 400);
  EXPECT_EQ(ask("PATCH", R"({"payload":null})").status, 200);
  EXPECT_EQ(task().payload, "null");
}

TEST_F(EditRoute, WhatIsNotEditableIsRefused) {
  for (const std::string body :
       {R"({})", R"({"type":"other"})", R"({"priority":10})", R"({"priority":"urgent"})", R"({"delay":5})",
        R"({"delay":"5s","run_at":"2030-01-01T00:00:00Z"})", R"({"tags":["a b"]})", R"({"tags":"a"})",
        R"({"run_at":"soon"})", R"([1])", R"({"payload":1,"patch":2})"}) {
    EXPECT_EQ(ask("PATCH", body).status, 400) << body;
  }
  EXPECT_EQ(merge(R"({"patch":{"a":1}})").status, 400);
  EXPECT_EQ(ask("PATCH", R"({"priority":1})", {{"content-type", "text/plain"}}).status, 415);
  must(engine_.claim({.worker_id = "w", .serves = {{.queue = "work", .type = {}}}}));
  const HttpResponse running = ask("PATCH", R"({"priority":1})");
  EXPECT_EQ(running.status, 409);
  EXPECT_EQ(error_of_problem(running).code, ErrorCode::kWrongState);
}

TEST_F(EditRoute, TheVersionTellsWhetherSomebodyWasFaster) {
  const std::string seen(ask("GET", "").header("etag"));
  ASSERT_EQ(seen.size(), 18U);
  const HttpResponse first = ask("PATCH", R"({"priority":1})", {{"if-match", seen}});
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.header("etag"), ask("GET", "").header("etag"));
  const HttpResponse second = ask("PATCH", R"({"priority":2})", {{"if-match", seen}});
  EXPECT_EQ(second.status, 412);
  EXPECT_EQ(error_of_problem(second).code, ErrorCode::kVersionMismatch);
  EXPECT_EQ(task().priority, 1);
  EXPECT_EQ(ask("PATCH", R"({"priority":2})", {{"if-match", "*"}}).status, 200);
  for (const std::string tag : {"W/\"a\"", "a", "\"a\", \"b\"", "\""}) {
    EXPECT_EQ(ask("PATCH", R"({"priority":3})", {{"if-match", tag}}).status, 400) << tag;
  }
}

}  // namespace
}  // namespace drover::server
