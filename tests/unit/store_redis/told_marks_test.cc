// Redis comes back with less than it had, and the process that finds it so never saw more: others tell it.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"

namespace drover {
namespace {

namespace fs = std::filesystem;
using test::code_of;
using test::must;

// On a machine of its own: it keeps no mark.
struct Newcomer {
  explicit Newcomer(const test::RedisServer& server) {
    drover::RedisOptions options;
    options.address = server.address();
    store = must(open_redis(std::move(options)));
    engine.emplace(*store, rng);
  }
  void enqueue() { must(engine->enqueue_one({.type = "work"})); }
  Result<std::vector<ClaimedTask>> claim() {
    return engine->claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1});
  }

  test::LockedRng rng{1};
  std::unique_ptr<Store> store;
  std::optional<Engine> engine;
};

TEST(RedisToldMarks, AnOlderDumpIsFoundOutByTheWordOfOneWhoSawMore) {
  test::RedisServer server{{.more = {"--save", ""}}};
  const fs::path dump = server.dir().path() / "dump.rdb";
  StoreMark saw;
  {
    Newcomer first(server);
    first.enqueue();
    server.run(redis::Command("SAVE"));
    fs::rename(dump, server.dir().file("older.rdb"));
    first.enqueue();
    first.enqueue();
    static_cast<void>(must(first.store->state()));
    saw = first.store->seen();
  }
  EXPECT_EQ(saw.mark.seq, 3);
  server.kill_hard();
  fs::copy_file(server.dir().file("older.rdb"), dump, fs::copy_options::overwrite_existing);
  server.start();
  Newcomer second(server);
  for (int i = 0; i < 4; ++i) second.enqueue();
  EXPECT_EQ(must(second.store->state()).loss, std::nullopt) << "nobody here knows";
  EXPECT_EQ(must(second.store->hear(saw)), true);
  EXPECT_EQ(must(second.store->state()).loss, (Loss{2, 3}));
  EXPECT_EQ(code_of(second.claim()), ErrorCode::kStoreRegressed);
  EXPECT_EQ(must(second.store->hear(saw)), false) << "it is known";
  must(second.store->accept_regression());
  EXPECT_EQ(must(second.claim()).size(), 1U);
  EXPECT_EQ(must(second.store->hear(saw)), false) << "and accepted";
}

TEST(RedisToldMarks, TheWordOfOthersCountsForThisStoreOnly) {
  const test::RedisServer server;
  Newcomer process(server);
  process.enqueue();
  EXPECT_EQ(must(process.store->hear({"0", {9, "1", 100}})), false);
  const StoreState state = must(process.store->state());
  EXPECT_EQ(state.loss, std::nullopt);
  EXPECT_EQ(state.extent.epochs.size(), 1U);
}

}  // namespace
}  // namespace drover
