// A Redis that comes back with less than it had acknowledged: nothing is claimed until somebody accepts what is gone.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

namespace drover {
namespace {

namespace fs = std::filesystem;
using test::code_of;
using test::must;
using test::RedisServer;

constexpr std::chrono::seconds kHungFor{20};

// One process of a fleet.
class Process {
 public:
  explicit Process(const RedisServer& server, std::string mark_path = {})
      : store_(open(server, std::move(mark_path))), engine_(*store_, rng_) {}

  Store& store() { return *store_; }
  TaskId enqueue() { return must(engine_.enqueue_one({.type = "work"})).id; }
  Result<std::vector<ClaimedTask>> claim() {
    return engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1});
  }
  // Claims until it is refused: Redis is asked how far it is not more than once a millisecond.
  std::optional<ErrorCode> refusal() {
    const auto end = std::chrono::steady_clock::now() + kHungFor;
    auto claimed = claim();
    while (claimed && std::chrono::steady_clock::now() < end) claimed = claim();
    return code_of(claimed);
  }
  // Calls until there is an answer: connections come back after a pause.
  StoreState state() {
    const auto end = std::chrono::steady_clock::now() + kHungFor;
    auto state = store_->state();
    while (!state && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
      state = store_->state();
    }
    return must(std::move(state));
  }

 private:
  static std::unique_ptr<Store> open(const RedisServer& server, std::string mark_path) {
    drover::RedisOptions options;
    options.address = server.address();
    options.mark_path = std::move(mark_path);
    return must(open_redis(std::move(options)));
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  Engine engine_;
};

class RedisRegression : public testing::Test {
 protected:
  // The server's files as they are when it has ended in order.
  void save_files() {
    server_.stop();
    fs::copy(server_.dir().path() / "appendonlydir", saved(), fs::copy_options::recursive);
    server_.start();
  }
  void restore_files() {
    server_.kill_hard();
    fs::remove_all(server_.dir().path() / "appendonlydir");
    fs::copy(saved(), server_.dir().path() / "appendonlydir", fs::copy_options::recursive);
    server_.start();
  }
  [[nodiscard]] fs::path saved() const { return server_.dir().path() / "saved"; }

  RedisServer server_{{.appendonly = true, .appendfsync = "always"}};
  test::TempDir dir_;
};

TEST_F(RedisRegression, ARestartThatLosesNothingIsNone) {
  Process process(server_);
  process.enqueue();
  server_.kill_hard();
  server_.start();
  const StoreState state = process.state();
  EXPECT_EQ(state.loss, std::nullopt);
  ASSERT_EQ(state.extent.epochs.size(), 2U);
  EXPECT_EQ(state.extent.epochs[1].cause, Epoch::Cause::kRestarted);
  EXPECT_EQ(state.extent.epochs[1].after, 1);
  EXPECT_EQ(must(process.claim()).size(), 1U);
}

TEST_F(RedisRegression, OlderFilesAreNoticedByWhoeverSawMore) {
  Process other(server_);
  other.enqueue();
  save_files();
  EXPECT_EQ(other.state().loss, std::nullopt);
  Process process(server_, dir_.file("mark"));
  process.enqueue();
  process.enqueue();
  restore_files();
  // Another process comes first, knows nothing, and writes as much again.
  for (int i = 0; i < 3; ++i) {
    other.state();
    other.enqueue();
  }
  EXPECT_EQ(process.state().loss, (Loss{2, 3}));
  EXPECT_EQ(code_of(process.claim()), ErrorCode::kStoreRegressed);
  EXPECT_EQ(must(other.claim()).size(), 1U) << "it has lost nothing that it knows of";

  // Accepted by a third one, and every process goes on by itself.
  Process operating(server_);
  must(operating.store().accept_regression());
  EXPECT_EQ(must(process.claim()).size(), 1U);
  EXPECT_EQ(must(other.claim()).size(), 1U);
}

TEST_F(RedisRegression, TheNextProcessKnowsItFromTheFile) {
  Process first(server_, dir_.file("mark"));
  first.enqueue();
  save_files();
  {
    Process second(server_, dir_.file("mark"));
    second.enqueue();
  }
  restore_files();
  Process third(server_, dir_.file("mark"));
  EXPECT_EQ(third.state().loss, (Loss{2, 2}));
  const StoreState accepted = must(third.store().accept_regression());
  EXPECT_EQ(accepted.loss, (Loss{2, 2}));
  EXPECT_EQ(accepted.extent.epochs.back().cause, Epoch::Cause::kAccepted);
  const Event told = must(third.store().events(1, 10)).at(0);
  EXPECT_EQ(told.name, "store.regression_accepted");
  EXPECT_EQ(told.data, R"({"lost_from":2,"lost_to":2})");
  EXPECT_EQ(must(third.claim()).size(), 1U);
}

TEST_F(RedisRegression, AFlushUnderALiveConnectionIsNoticed) {
  Process process(server_);
  process.enqueue();
  process.enqueue();
  process.state();  // it has seen both
  server_.run(redis::Command("FLUSHALL"));
  EXPECT_EQ(process.refusal(), ErrorCode::kStoreRegressed);
  EXPECT_EQ(process.state().loss, (Loss{1, 2}));
  process.enqueue();
  EXPECT_EQ(code_of(process.claim()), ErrorCode::kStoreRegressed);
  must(process.store().accept_regression());
  EXPECT_EQ(must(process.claim()).size(), 1U);
  EXPECT_EQ(must(process.store().fsck(FsckMode::kCheck)).size(), 0U);
}

// An epoch that begins in an emptied store has to be later than those that were seen: its number alone tells.
TEST_F(RedisRegression, WhatIsLostStaysAsItWasFound) {
  Process process(server_);
  for (int i = 0; i < 2; ++i) must(process.store().accept_regression());
  process.enqueue();
  EXPECT_EQ(process.state().extent.epochs.back().number, 3);
  server_.run(redis::Command("FLUSHALL"));
  for (int i = 0; i < 5; ++i) {
    process.enqueue();
    EXPECT_EQ(process.state().loss, (Loss{1, 3})) << "after " << i + 1 << " new events";
  }
  EXPECT_EQ(code_of(process.claim()), ErrorCode::kStoreRegressed);
}

TEST_F(RedisRegression, WhatIsLostIsKnownAlsoWhenOthersCameFirst) {
  Process process(server_);
  for (int i = 0; i < 2; ++i) must(process.store().accept_regression());
  for (int i = 0; i < 3; ++i) process.enqueue();
  EXPECT_EQ(process.state().loss, std::nullopt);
  server_.run(redis::Command("FLUSHALL"));
  Process stranger(server_);
  stranger.enqueue();
  EXPECT_EQ(stranger.state().extent.epochs.size(), 1U);
  EXPECT_EQ(process.state().loss, (Loss{1, 5}));
  for (int i = 0; i < 6; ++i) stranger.enqueue();
  EXPECT_EQ(process.state().loss, (Loss{1, 5}));
  must(process.store().accept_regression());
  EXPECT_EQ(must(process.claim()).size(), 1U);
  EXPECT_EQ(must(stranger.claim()).size(), 1U);
}

// One epoch a restart, for years. The first one names the store, so it stays.
TEST_F(RedisRegression, EpochsAreNotKeptForEver) {
  Process process(server_);
  process.enqueue();
  const std::string store = process.store().seen().store;
  for (int i = 0; i < 1'010; ++i) must(process.store().accept_regression());
  EXPECT_EQ(process.state().extent.epochs.size(), 1'001U);
  EXPECT_EQ(process.store().seen().store, store);
  EXPECT_EQ(must(process.store().hear({store, {3, "3", 3}})), false) << "of an epoch that is forgotten";
}

// ---- a primary that was a replica for a while, and runs on: A, B, and A again

enum class Connected : std::uint8_t { kAllTheTime, kAnew };

struct PromotionCase {
  Connected who_saw_more;  // anew: another process, which knows from the file
  Connected who_writes;    // before the first one looks, as many events as were lost and more
};

class RedisPromotion : public testing::TestWithParam<PromotionCase> {
 protected:
  static constexpr int kKept = 3;
  static constexpr int kLost = 5;
  static constexpr int kWrittenAfter = 6;

  // Until it has all that its primary has.
  static void follow(const RedisServer& replica, const RedisServer& primary) {
    replica.run(redis::Command("REPLICAOF", "127.0.0.1", std::to_string(primary.port())));
    const auto end = std::chrono::steady_clock::now() + kHungFor;
    while (!info(replica).contains("master_link_status:up")) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << info(replica);
      std::this_thread::yield();
    }
  }
  static void promote(const RedisServer& server) { server.run(redis::Command("REPLICAOF", "NO", "ONE")); }
  static std::string info(const RedisServer& server) {
    return std::string(must(server.run(redis::Command("INFO", "replication")).as_text()));
  }

  // Others write; then the process that saw more looks.
  std::optional<Loss> loss_found(std::unique_ptr<Process> saw_more, std::unique_ptr<Process> writer) {
    if (GetParam().who_writes == Connected::kAnew) writer = std::make_unique<Process>(a_);
    for (int i = 0; i < kWrittenAfter; ++i) writer->enqueue();
    EXPECT_EQ(must(writer->claim()).size(), 1U) << "it has lost nothing that it knows of";
    if (saw_more == nullptr || GetParam().who_saw_more == Connected::kAnew) {
      saw_more.reset();
      saw_more = std::make_unique<Process>(a_, mark_);
    }
    const auto loss = saw_more->state().loss;
    EXPECT_EQ(code_of(saw_more->claim()), ErrorCode::kStoreRegressed);
    must(saw_more->store().accept_regression());
    EXPECT_EQ(must(saw_more->claim()).size(), 1U);
    return loss;
  }

  RedisServer a_{{.more = {"--repl-diskless-sync-delay", "0"}}};
  RedisServer b_{{.more = {"--repl-diskless-sync-delay", "0"}}};
  test::TempDir dir_;
  const std::string mark_ = dir_.file("mark");
};

TEST_P(RedisPromotion, WhatItLostOfItsOwnIsNoticed) {
  auto saw_more = std::make_unique<Process>(a_, mark_);
  auto writer = std::make_unique<Process>(a_);
  for (int i = 0; i < kKept; ++i) saw_more->enqueue();
  follow(b_, a_);
  promote(b_);
  for (int i = 0; i < kLost; ++i) saw_more->enqueue();
  follow(a_, b_);
  promote(a_);
  EXPECT_EQ(loss_found(std::move(saw_more), std::move(writer)), (Loss{kKept + 1, kKept + kLost}));
}

TEST_P(RedisPromotion, WhatTheOtherHadAcknowledgedIsNoticed) {
  auto writer = std::make_unique<Process>(a_);
  for (int i = 0; i < kKept; ++i) writer->enqueue();
  follow(b_, a_);
  promote(b_);
  a_.run(redis::Command("REPLICAOF", "127.0.0.1", "1"));  // it never reaches its primary
  {
    Process on_b(b_, mark_);  // the address has moved
    for (int i = 0; i < kLost; ++i) on_b.enqueue();
  }
  promote(a_);
  // What was seen on the other server is in the file only.
  EXPECT_EQ(loss_found(nullptr, std::move(writer)), (Loss{kKept + 1, kKept + kLost}));
}

TEST_P(RedisPromotion, OneThatLosesNothingIsNone) {
  Process process(a_, mark_);
  for (int i = 0; i < kKept; ++i) process.enqueue();
  follow(b_, a_);
  promote(b_);
  follow(a_, b_);
  promote(a_);
  process.state();  // refused once, perhaps, while it was a replica
  process.enqueue();
  const StoreState state = process.state();
  EXPECT_EQ(state.loss, std::nullopt);
  EXPECT_EQ(state.extent.epochs.back().cause, Epoch::Cause::kRestarted);
  EXPECT_EQ(state.extent.epochs.back().after, kKept);
  EXPECT_EQ(must(process.claim()).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Connections, RedisPromotion,
                         testing::Values(PromotionCase{Connected::kAllTheTime, Connected::kAllTheTime},
                                         PromotionCase{Connected::kAllTheTime, Connected::kAnew},
                                         PromotionCase{Connected::kAnew, Connected::kAllTheTime},
                                         PromotionCase{Connected::kAnew, Connected::kAnew}));

TEST_F(RedisRegression, NumbersThatGoBackEndTheEpoch) {
  Process process(server_);
  process.enqueue();
  process.enqueue();
  process.state();  // it has seen both
  server_.run(redis::Command("HSET", "{ade}:seq", "event", "1"));
  const StoreState state = process.state();
  EXPECT_EQ(state.loss, (Loss{2, 2}));
  EXPECT_EQ(state.extent.epochs.back().cause, Epoch::Cause::kRegressed);
  EXPECT_EQ(code_of(process.claim()), ErrorCode::kStoreRegressed);
}

}  // namespace
}  // namespace drover
