// Clients tell a server how far they have seen its store to be, and are told.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/remote_queue.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"

namespace drover::server {
namespace {

using test::must;

constexpr Millis kSeenBound{30'000};

class SeenHeader : public ::testing::Test {
 protected:
  HttpResponse ask(const std::string& role, const std::string& seen, const std::string& target = "/v1/server") {
    HttpClient client(endpoint_);
    HttpHeaders headers{{"host", "localhost"}, {"authorization", "Bearer " + role}};
    if (!seen.empty()) headers.emplace_back("drover-seen", seen);
    return must(client.exchange({.method = "GET", .target = target, .headers = std::move(headers)}, kSeenBound));
  }
  // One event more than there is.
  std::string too_much() {
    StoreMark mark = store_->seen();
    ++mark.mark.seq;
    return to_string(mark);
  }
  std::optional<Loss> loss() { return must(store_->state()).loss; }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  Endpoint endpoint_ = must(parse_server_url(server_->addresses().front())).endpoint;
};

TEST_F(SeenHeader, IsToldToThoseWhoWorkOrRunTheFleet) {
  must(engine_.enqueue_one({.type = "work"}));
  for (const char* role : {"worker", "operator", "admin"}) {
    EXPECT_EQ(ask(role, "").header("drover-seen"), to_string(store_->seen())) << role;
  }
  for (const char* role : {"viewer:ann", "producer:ann", "nobody"}) {
    EXPECT_EQ(ask(role, "").header("drover-seen"), "") << role << ": it counts the events of all owners";
  }
}

TEST_F(SeenHeader, TheWordOfOthersCountsForNothing) {
  must(engine_.enqueue_one({.type = "work"}));
  for (const char* role : {"viewer:ann", "producer:ann", "nobody"}) ask(role, too_much());
  for (const char* seen : {"", "x", "0:1:1:99", "../etc:1:1:99"}) ask("admin", seen);
  EXPECT_EQ(loss(), std::nullopt);
}

TEST_F(SeenHeader, AWorkerThatSawMoreIsRefusedItsVeryCall) {
  must(engine_.enqueue_one({.type = "work"}));
  const auto worker = must(open_remote({.url = server_->addresses().front(), .token = "worker"}));
  must(worker->register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}}));
  const ClaimRequest request{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1};
  EXPECT_EQ(must(worker->claim(request)).size(), 1U);
  must(engine_.enqueue_one({.type = "work"}));
  ask("worker", too_much());
  EXPECT_EQ(loss(), (Loss{4, 4}));
  const auto refused = worker->claim(request);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreRegressed);
  const HttpResponse ready = ask("nobody", "", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_NE(ready.body.find("store_regressed"), std::string::npos) << ready.body;
}

}  // namespace
}  // namespace drover::server
