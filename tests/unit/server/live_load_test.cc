// What watchers cost others: nothing that anybody else waits for.
#include <gtest/gtest.h>

#include <mutex>
#include <semaphore>
#include <set>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"
#include "unit/server/viewer.h"

namespace drover::server {
namespace {

using test::must;

// Looks for a long time at the tokens of viewers that have been let in before.
class DoorThatPonders final : public Doorkeeper {
 public:
  ~DoorThatPonders() override { decide(); }

  Result<Principal> principal(std::string_view token) override {
    if (token.starts_with("viewer") && has_let_in(token) && !is_decided_) {
      pondering.release();
      decided_.acquire();
      decided_.release();
    }
    return names_.principal(token);
  }
  void decide() {
    if (!is_decided_.exchange(true)) decided_.release();
  }

  std::counting_semaphore<> pondering{0};

 private:
  // Whether it did so before.
  bool has_let_in(std::string_view token) {
    const std::scoped_lock lock(mutex_);
    return !let_in_.emplace(token).second;
  }

  NamedDoor names_;
  std::mutex mutex_;
  std::set<std::string> let_in_;
  std::atomic<bool> is_decided_ = false;
  std::counting_semaphore<> decided_{0};
};

TEST(LiveLoad, ThoseWhoAskDoNotWaitForWhatIsReadForWatchers) {
  test::LockedRng rng{1};
  const std::unique_ptr<Store> store = must(open_sqlite(SqliteOptions{}));
  Engine engine(*store, rng);
  LocalAdministration administration{*store, engine, rng};
  DoorThatPonders door;
  const auto server =
      must(Server::start(engine, administration, door, {.listen = {"127.0.0.1:0"}, .tokens_again = Millis{100}}));
  const Endpoint endpoint = must(parse_server_url(server->addresses().front())).endpoint;
  std::vector<Viewer> viewers;
  for (const char* owner : {"anna", "ben", "cleo", "dan"}) {
    viewers.push_back(Viewer::of_stream(endpoint, "", bearer(fmt::format("viewer:{}", owner))));
  }
  // As many at a time as large answers have threads.
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(door.pondering.try_acquire_for(kViewerHangs));

  HttpClient client(endpoint);
  const auto listed = client.exchange({.method = "GET",
                                       .target = "/v1/tasks",
                                       .body = {},
                                       .headers = {{"host", "localhost"}, {"authorization", "Bearer operator"}}},
                                      kViewerHangs);
  door.decide();
  ASSERT_TRUE(listed.has_value()) << to_string(listed.error());
  EXPECT_EQ(listed->status, 200);
  for (Viewer& viewer : viewers) EXPECT_EQ(text(viewer.next(), "kind"), "snapshot");
}

}  // namespace
}  // namespace drover::server
