// Tasks that were claimed for a worker that is not there any more when the answer is ready.
#include <gtest/gtest.h>

#include <semaphore>

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

using test::must;

constexpr Millis kWhile{30'000};

// Holds everybody up at the door until the test lets them in.
class SlowDoor final : public Doorkeeper {
 public:
  Result<Principal> principal(std::string_view /*token*/) override {
    somebody_waits.release();
    open.acquire();
    return Principal{.token_id = "test", .role = Role::kWorker, .owner = {}, .queues = {}};
  }

  std::binary_semaphore somebody_waits{0};
  std::binary_semaphore open{0};
};

TEST(Handout, TasksForAWorkerThatIsGoneAreGivenBackAtOnce) {
  test::LockedRng rng{1};
  const std::unique_ptr<Store> store = must(open_sqlite(SqliteOptions{}));
  Engine engine(*store, rng);
  LocalAdministration administration{*store, engine, rng};
  SlowDoor door;
  const auto server = must(Server::start(engine, administration, door, {.listen = {"127.0.0.1:0"}}));
  const Endpoint endpoint = must(parse_server_url(server->addresses().front())).endpoint;
  const TaskId id = must(engine.enqueue_one({.type = "work"})).id;
  must(engine.register_worker({.id = "w", .version = "1", .serves = {{.queue = "work"}}, .token_id = "test"}));
  const Patience patience = Patience::of(kWhile);

  std::unique_ptr<Socket> worker = must(connect_socket(endpoint, patience));
  must(worker->write_all(format_request({.method = "POST",
                                         .target = "/v1/workers/w/claim",
                                         .body = R"({"serves":[{"queue":"work"}],"lease_ms":3600000})",
                                         .headers = {{"host", "localhost"}}}),
                         patience));
  door.somebody_waits.acquire();
  worker.reset();
  // The server has seen that it went once it has answered somebody who came later.
  HttpClient later(endpoint);
  EXPECT_EQ(must(later.exchange({.method = "GET", .target = "/nothing", .body = {}, .headers = {{"host", "localhost"}}},
                                kWhile))
                .status,
            404);
  door.open.release();

  const auto end = std::chrono::steady_clock::now() + kWhile;
  while (std::chrono::steady_clock::now() < end) {
    const std::uint64_t seen = engine.changes();
    const Task task = must(engine.get(id));
    if (task.run == 1 && task.state == TaskState::kPending) break;
    engine.wait_for_change(seen, Millis{1'000});
  }
  const Task task = must(engine.get(id));
  EXPECT_EQ(task.state, TaskState::kPending);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(must(engine.events(0, 100)).back().name, "task.released");
}

}  // namespace
}  // namespace drover::server
