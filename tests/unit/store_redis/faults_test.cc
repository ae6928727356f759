// What can go wrong with a Redis under a running queue: it refuses, it is gone, its answer is lost, somebody damages a
// key. Nothing is half stored, one bad record stops no other, and damage is mended from the tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "engine/engine.h"
#include "engine/sweepers.h"
#include "store/redis/redis_store.h"
#include "support/fault_proxy.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"
#include "support/together.h"

namespace drover {
namespace {

using std::chrono::steady_clock;
using test::code_of;
using test::FaultProxy;
using test::must;
using test::RedisServer;

constexpr std::chrono::seconds kHangs{20};

// A queue over Redis, on a clock that the test moves.
class Rig {
 public:
  explicit Rig(redis::Address address, Millis call_timeout = Millis{5'000})
      : key_("{" + address.prefix + "}:"),
        store_(open(std::move(address), call_timeout)),
        engine_(*store_, rng_),
        sweepers_(engine_) {}

  Engine& engine() { return engine_; }
  test::ManualClock& clock() { return clock_; }
  [[nodiscard]] std::string key(std::string_view name) const { return key_ + std::string(name); }

  TaskId enqueue(const TaskSpec& spec = {.type = "work"}) { return must(engine_.enqueue_one(spec)).id; }
  Result<std::vector<ClaimedTask>> try_claim(int n) {
    return engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = n});
  }
  std::vector<ClaimedTask> claim(int n) { return must(try_claim(n)); }
  void complete(const std::vector<ClaimedTask>& claimed) {
    for (const ClaimedTask& one : claimed) {
      const Settlement done{one.lease, Completion{}};
      for (const auto& state : engine_.settle(std::span(&done, 1))) EXPECT_EQ(must(state), TaskState::kCompleted);
    }
  }
  // What a worker and the sweepers do, over and over. A call that comes upon damage may fail; the next goes on.
  void work_on(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      (void)sweepers_.run_once();
      const auto claimed = try_claim(10);
      if (!claimed) continue;
      for (const ClaimedTask& one : *claimed) {
        const Settlement done{one.lease, Completion{}};
        (void)engine_.settle(std::span(&done, 1));
      }
    }
  }
  Result<SweepReport> sweep() { return sweepers_.run_once(); }
  TaskState state(const TaskId& id) { return must(engine_.get(id)).state; }
  std::size_t count(const TaskFilter& filter = {}) { return must(engine_.list(filter, 1'000, {})).tasks.size(); }
  std::vector<std::string> fsck(FsckMode mode = FsckMode::kCheck) {
    std::vector<std::string> codes;
    for (const Finding& finding : must(engine_.fsck(mode))) codes.push_back(finding.code + " " + finding.detail);
    return codes;
  }

 private:
  std::unique_ptr<Store> open(redis::Address address, Millis call_timeout) {
    drover::RedisOptions options;
    options.address = std::move(address);
    options.call_timeout = call_timeout;
    options.connect_timeout = call_timeout;
    options.test_clock = &clock_;
    return must(open_redis(std::move(options)));
  }

  std::string key_;
  test::ManualClock clock_;
  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  Engine engine_;
  Sweepers sweepers_;
};

// Calls until it works: connections come back after a pause.
template <class Call>
auto until_it_works(const Call& call) {
  const auto end = steady_clock::now() + kHangs;
  auto result = call();
  while (!result && steady_clock::now() < end) {
    std::this_thread::yield();
    result = call();
  }
  return must(std::move(result));
}

redis::Address through(const FaultProxy& proxy) {
  redis::Address address = proxy.address();
  address.prefix = test::fresh_prefix();
  return address;
}

// ---- a server that refuses

TEST(RedisFaultsTest, OutOfMemoryRefusesNewWorkAndLetsTheRestEnd) {
  RedisServer server;
  Rig rig(server.address());
  for (int i = 0; i < 4; ++i) rig.enqueue();
  const std::vector<ClaimedTask> running = rig.claim(2);
  ASSERT_EQ(running.size(), 2U);
  const TaskId waiting = must(rig.engine().list({.states = {TaskState::kPending}}, 1, {})).tasks.at(0).id;
  const auto keys = must(server.run(redis::Command("DBSIZE")).as_integer());

  server.run(redis::Command("CONFIG", "SET", "maxmemory", "1"));
  EXPECT_EQ(code_of(rig.engine().enqueue_one({.type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(code_of(rig.try_claim(1)), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(must(server.run(redis::Command("DBSIZE")).as_integer()), keys);
  EXPECT_EQ(rig.count(), 4U);

  const Lease leases[] = {running[0].lease, running[1].lease};
  EXPECT_EQ(must(rig.engine().renew("host:1:a", leases, Millis{30'000})).leases,
            (std::vector<LeaseState>{LeaseState::kHeld, LeaseState::kHeld}));
  must(rig.engine().progress(leases[0], {.percent = 50, .message = "half"}));
  must(rig.engine().append_log(leases[0], std::vector<LogChunk>{{LogStream::kOut, "text"}}));
  rig.complete(running);
  EXPECT_EQ(must(rig.engine().cancel(waiting, "")).state, TaskState::kCancelled);
  must(rig.sweep());
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});

  server.run(redis::Command("CONFIG", "SET", "maxmemory", "0"));
  rig.enqueue();
  EXPECT_EQ(rig.claim(5).size(), 2U);
}

TEST(RedisFaultsTest, ReadOnlyReplicaIsLeftUntilItIsAPrimaryAgain) {
  RedisServer server;
  Rig rig(server.address());
  const TaskId before = rig.enqueue();
  server.run(redis::Command("REPLICAOF", "127.0.0.1", "1"));
  EXPECT_EQ(code_of(rig.engine().enqueue_one({.type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(code_of(rig.try_claim(1)), ErrorCode::kStoreUnavailable);
  server.run(redis::Command("REPLICAOF", "NO", "ONE"));
  until_it_works([&] { return rig.engine().enqueue_one({.type = "work"}); });
  EXPECT_EQ(rig.count(), 2U);
  EXPECT_EQ(rig.claim(1).at(0).task.id, before);
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

class RedisRefusalTest : public testing::TestWithParam<const char*> {};

TEST_P(RedisRefusalTest, IsUnavailableAndOverWithTheNextCall) {
  FaultProxy proxy(test::shared_redis().port());
  Rig rig(through(proxy));
  rig.enqueue();
  proxy.answer_next(GetParam());
  const auto refused = rig.engine().enqueue_one({.type = "work"});
  EXPECT_EQ(code_of(refused), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(refused.error().message.find("may have taken effect"), std::string::npos);
  proxy.answer_next(GetParam());
  EXPECT_EQ(code_of(rig.try_claim(1)), ErrorCode::kStoreUnavailable);
  until_it_works([&] { return rig.engine().enqueue_one({.type = "work"}); });
  EXPECT_EQ(rig.claim(5).size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Words, RedisRefusalTest,
                         testing::Values("LOADING Redis is loading the dataset in memory",
                                         "BUSY Redis is busy running a script", "MASTERDOWN Link with MASTER is down",
                                         "CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys request",
                                         "MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
                                         "NOREPLICAS Not enough good replicas to write",
                                         "MISCONF Redis is configured to save RDB snapshots"));

TEST(RedisFaultsTest, FlushedFunctionsAreLoadedAgainUnderLoad) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 100;
  RedisServer server;
  Rig rig(server.address());
  std::atomic<int> at_work = kThreads;
  std::atomic<int> stored = 0;
  test::together(kThreads + 1, [&](int thread) {
    if (thread == kThreads) {
      // Once more whenever something has got through, however slow the machine is.
      while (at_work > 0) {
        const int before = stored;
        server.run(redis::Command("FUNCTION", "FLUSH", "SYNC"));
        while (stored == before && at_work > 0) std::this_thread::yield();
      }
      return;
    }
    for (int i = 0; i < kTasks; ++i) {
      const std::string request = std::to_string(thread) + "-" + std::to_string(i);
      until_it_works([&] { return rig.engine().enqueue_one({.type = "work", .request_id = request}); });
      ++stored;
    }
    --at_work;
  });
  EXPECT_EQ(rig.count(), static_cast<std::size_t>(kThreads * kTasks));
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

// ---- a server that is gone

TEST(RedisFaultsTest, LostAnswersAreSaidToBeUnknownAndARepeatGivesOneTask) {
  constexpr std::size_t kAnswerBytesMax = 120;  // of all answers to one enqueue
  FaultProxy proxy(test::shared_redis().port());
  Rig rig(through(proxy));
  int unknown = 0;
  int tasks = 0;
  for (std::size_t bytes = 0; bytes < kAnswerBytesMax; bytes += 3) {
    const TaskSpec spec{.type = "work", .request_id = "r" + std::to_string(bytes)};
    proxy.cut_after(bytes);
    const auto first = rig.engine().enqueue_one(spec);
    if (!first) {
      EXPECT_EQ(first.error().code, ErrorCode::kStoreUnavailable);
      unknown += first.error().message.find("may have taken effect") != std::string::npos ? 1 : 0;
    }
    proxy.pass();
    const Enqueued again = until_it_works([&] { return rig.engine().enqueue_one(spec); });
    if (first) {
      EXPECT_EQ(again.id, first->id);
    }
    EXPECT_EQ(rig.count(), static_cast<std::size_t>(++tasks));
  }
  EXPECT_GT(unknown, 0);
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

TEST(RedisFaultsTest, GoneServerIsUnavailableAtOnceAndComesBackByItself) {
  RedisServer server({.appendonly = true, .appendfsync = "always"});
  Rig rig(server.address());
  const TaskId before = rig.enqueue();
  server.kill_hard();
  const auto asked = steady_clock::now();
  EXPECT_EQ(code_of(rig.engine().enqueue_one({.type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(code_of(rig.try_claim(1)), ErrorCode::kStoreUnavailable);
  EXPECT_LT(steady_clock::now() - asked, std::chrono::seconds{2});
  server.start();
  until_it_works([&] { return rig.engine().get(before); });
  EXPECT_EQ(rig.count(), 1U);
  EXPECT_EQ(rig.claim(5).size(), 1U);
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

TEST(RedisFaultsTest, SilentServerIsUnavailableWithinTheTimeout) {
  constexpr Millis kTimeout{300};
  RedisServer server;
  Rig rig(server.address(), kTimeout);
  rig.enqueue();
  server.freeze();
  const auto asked = steady_clock::now();
  EXPECT_EQ(code_of(rig.engine().enqueue_one({.type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_LT(steady_clock::now() - asked, 4 * kTimeout);
  server.thaw();
  until_it_works([&] { return rig.engine().enqueue_one({.type = "work"}); });
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

// ---- damaged structure: everything but the tasks themselves follows from the tasks

struct Damage {
  const char* name;
  std::vector<std::string> command;  // with the key, without the prefix, as its second word
};
void PrintTo(const Damage& damage, std::ostream* out) {
  *out << damage.name;
}

constexpr const char* kLane = "lane:work|5|default|work|1|";

class RedisDamageTest : public testing::TestWithParam<Damage> {
 protected:
  RedisDamageTest() : rig_(test::shared_redis().address(test::fresh_prefix())) {
    running_ = rig_.enqueue();
    lease_ = rig_.claim(1).at(0);
    for (int i = 0; i < 3; ++i) tasks_.push_back(rig_.enqueue());
    for (int i = 0; i < 2; ++i)
      tasks_.push_back(
          rig_.enqueue({.type = "other", .queue = "work", .tags = {"blue"}, .request_id = std::to_string(i)}));
    tasks_.push_back(rig_.enqueue({.type = "work", .delay = Millis{1'000}}));
  }

  void damage() {
    std::vector<std::string> words = GetParam().command;
    const std::size_t key_at = words[0] == "XGROUP" ? 2 : 1;
    words[key_at] = rig_.key(words[key_at]);
    redis::Command command(words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) command.add(words[i]);
    ASSERT_FALSE(test::shared_redis().run(command).is_error());
  }

  Rig rig_;
  TaskId running_;
  ClaimedTask lease_;
  std::vector<TaskId> tasks_;
};

// Nobody has to do anything: whoever comes upon it has it mended.
TEST_P(RedisDamageTest, WorkGoesOnByItself) {
  damage();
  rig_.clock().advance(Millis{2'000});
  rig_.work_on(10);
  for (const TaskId& id : tasks_) EXPECT_EQ(rig_.state(id), TaskState::kCompleted) << id.to_string();
  const Settlement done{lease_.lease, Completion{}};
  (void)rig_.engine().settle(std::span(&done, 1));
  rig_.clock().advance(Millis{60'000});
  rig_.work_on(10);
  EXPECT_EQ(rig_.state(running_), TaskState::kCompleted);
  EXPECT_EQ(until_it_works([&] { return rig_.engine().list({}, 100, {}); }).tasks.size(), 7U);
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
}

TEST_P(RedisDamageTest, FsckFindsAndRepairsIt) {
  damage();
  EXPECT_NE(rig_.fsck(), std::vector<std::string>{});
  EXPECT_NE(rig_.fsck(FsckMode::kRepair), std::vector<std::string>{});
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  rig_.complete({lease_});
  rig_.clock().advance(Millis{2'000});
  must(rig_.sweep());
  rig_.complete(rig_.claim(10));
  for (const TaskId& id : tasks_) EXPECT_EQ(rig_.state(id), TaskState::kCompleted) << id.to_string();
  rig_.enqueue();
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
}

class RedisGatesTest : public testing::Test {
 protected:
  void order(const decltype(GateOrder::what)& what) {
    must(rig_.engine().set_gate({.gate = "queue:work", .what = what, .why = "", .by = ""}));
  }
  void run(const redis::Command& command) { ASSERT_EQ(must(test::shared_redis().run(command).as_integer()), 1); }
  void expect_mended(const std::string& finding) {
    EXPECT_EQ(rig_.fsck(), std::vector{finding});
    EXPECT_EQ(rig_.fsck(FsckMode::kRepair), std::vector{finding});
    EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  }

  Rig rig_{test::shared_redis().address(test::fresh_prefix())};
  const std::string asleep_ = "gate_asleep lanes wait at gate queue:work that nobody will look at";
};

TEST_F(RedisGatesTest, LanesThatMayGoAndThatNobodyWouldWakeAreFound) {
  order(GateOrder::Limit{.permits = 1});
  for (int i = 0; i < 3; ++i) rig_.enqueue();
  const auto first = rig_.claim(3);
  ASSERT_EQ(first.size(), 1U);
  rig_.complete(first);
  run(redis::Command("ZREM", rig_.key("wake"), "queue:work"));
  expect_mended(asleep_);
  EXPECT_EQ(rig_.claim(3).size(), 1U);
}

TEST_F(RedisGatesTest, LanesThatNobodyWouldWakeAtTheirTimeAreFound) {
  order(GateOrder::Close{.until = rig_.clock().wall() + Millis{1'000}});
  rig_.enqueue();
  ASSERT_TRUE(rig_.claim(1).empty());
  run(redis::Command("ZREM", rig_.key("wake"), "queue:work"));
  expect_mended(asleep_);
  EXPECT_TRUE(rig_.claim(1).empty());
  rig_.clock().advance(Millis{1'000});
  EXPECT_EQ(rig_.claim(1).size(), 1U);
}

TEST_F(RedisGatesTest, LanesAtAGateThatDoesNotKnowItAreFound) {
  order(GateOrder::Close{.until = kUntilOpened});
  rig_.enqueue();
  ASSERT_TRUE(rig_.claim(1).empty());
  run(redis::Command("ZREM", rig_.key("waited"), "queue:work"));
  expect_mended("gate_wait_wrong lanes wait at gate queue:work, which is not among those that are waited at");
}

TEST_F(RedisGatesTest, WaysToAGateWhereNobodyWaitsAreFound) {
  run(redis::Command("ZADD", rig_.key("waits:queue:work"), 0, "work"));
  run(redis::Command("ZADD", rig_.key("waited"), 0, "queue:work"));
  run(redis::Command("ZADD", rig_.key("wake"), 5, "queue:work"));
  run(redis::Command("HSET", rig_.key("cursor"), "queue:work", "work"));
  EXPECT_EQ(rig_.fsck(), (std::vector<std::string>{
                             "gate_wait_wrong gate queue:work is waited at in queue work, but nobody waits there",
                             "gate_wait_wrong gate queue:work is waited at, but nobody waits there",
                             "gate_wait_wrong gate queue:work is to be looked at, but nobody waits there",
                             "gate_wait_wrong gate queue:work was gone round, but nobody waits there"}));
  EXPECT_EQ(rig_.fsck(FsckMode::kRepair).size(), 4U);
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
}

// What a gate enforces follows from its record.
TEST_F(RedisGatesTest, LimitsComeBackFromTheRecordsOfGates) {
  must(rig_.engine().apply_config(
      R"({"owners": {"default": {"permits": 2}, "ann": {"weight": 3}}, "queues": {"work": {"rate": "60/min", "burst": 5}}})",
      0));
  order(GateOrder::Limit{.permits = 1});
  for (int i = 0; i < 3; ++i) rig_.enqueue();
  const auto first = rig_.claim(3);
  ASSERT_EQ(first.size(), 1U);
  const auto limits = test::shared_redis().run(redis::Command("HGET", rig_.key("gates"), "queue:work"));
  run(redis::Command("DEL", rig_.key("gates")));
  EXPECT_FALSE(rig_.fsck().empty());
  EXPECT_EQ(rig_.fsck(FsckMode::kRepair),
            (std::vector<std::string>{"limits_wrong gate owner:* does not enforce what its record says",
                                      "limits_wrong gate owner:ann does not enforce what its record says",
                                      "limits_wrong gate queue:work does not enforce what its record says",
                                      "weights_missing the weights of owners are not those of the policy"}));
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  EXPECT_EQ(must(test::shared_redis().run(redis::Command("HGET", rig_.key("gates"), "queue:work")).as_text()),
            must(limits.as_text()));
  EXPECT_EQ(must(test::shared_redis().run(redis::Command("HGET", rig_.key("gates"), "weight:ann")).as_text()), "3");
  EXPECT_TRUE(rig_.claim(3).empty()) << "one may run, and one does";
  rig_.complete(first);
  EXPECT_EQ(rig_.claim(3).size(), 1U);
}

TEST_F(RedisGatesTest, LimitsThatWereWrittenByHandGo) {
  order(GateOrder::Limit{.permits = 1});
  rig_.enqueue();
  run(redis::Command("HSET", rig_.key("gates"), "type:work", "x - 0 0 0"));
  expect_mended("limits_wrong gate type:work enforces limits and has no record");
  EXPECT_EQ(rig_.claim(1).size(), 1U);
}

TEST_F(RedisGatesTest, APauseIsKeptWhenAllRecordsAreLost) {
  order(GateOrder::Close{.until = kUntilOpened});
  rig_.enqueue();
  run(redis::Command("DEL", rig_.key("gate_records")));
  EXPECT_EQ(rig_.fsck(FsckMode::kRepair),
            std::vector<std::string>{"limits_wrong gate queue:work enforces limits and has no record"});
  EXPECT_TRUE(rig_.claim(1).empty());
}

TEST_F(RedisGatesTest, LimitsOfAnotherTypeComeBack) {
  order(GateOrder::Close{.until = kUntilOpened});
  rig_.enqueue();
  ASSERT_FALSE(test::shared_redis().run(redis::Command("SET", rig_.key("gates"), "x")).is_error());
  EXPECT_EQ(rig_.fsck(FsckMode::kRepair).size(), 2U);
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  EXPECT_TRUE(rig_.claim(1).empty());
}

TEST(RedisFsck, LoadsTheFunctionsThatSomebodyFlushed) {
  RedisServer server;
  Rig rig(server.address());
  rig.enqueue();
  ASSERT_FALSE(server.run(redis::Command("FUNCTION", "FLUSH")).is_error());
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

// ---- damaged numbers in the tasks themselves

class RedisRelationsTest : public testing::Test {
 protected:
  // Replaces a text in a task's record.
  void edit(const TaskId& id, const std::string& from, const std::string& to) {
    const std::string key = rig_.key("t:" + id.to_string());
    std::string record(must(test::shared_redis().run(redis::Command("GET", key)).as_text()));
    const std::size_t at = record.find(from);
    ASSERT_NE(at, std::string::npos) << record;
    record.replace(at, from.size(), to);
    ASSERT_FALSE(test::shared_redis().run(redis::Command("SET", key, record)).is_error());
  }
  void expect_mended(const std::string& finding) {
    EXPECT_EQ(rig_.fsck(), std::vector{finding});
    EXPECT_EQ(rig_.fsck(FsckMode::kRepair), std::vector{finding});
    EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  }

  Rig rig_{test::shared_redis().address(test::fresh_prefix())};
  TaskId parent_ = rig_.enqueue();
  TaskId first_ = rig_.enqueue({.type = "work", .depends_on = {parent_}});
  TaskId second_ = rig_.enqueue({.type = "work", .parent_id = parent_, .depends_on = {parent_}});
};

TEST_F(RedisRelationsTest, FsckCountsDependents) {
  edit(parent_, R"("dependents":2)", R"("dependents":1)");
  expect_mended("dependents_count_wrong task " + parent_.to_string() + " counts 1 dependents and has more");
  rig_.complete(rig_.claim(1));
  EXPECT_EQ(rig_.state(first_), TaskState::kPending);
  EXPECT_EQ(rig_.state(second_), TaskState::kPending);
}

TEST_F(RedisRelationsTest, FsckCountsWhatIsNotCountedAtAll) {
  edit(parent_, R"("dependents":2)", R"("x":2)");
  edit(parent_, R"("children":1)", R"("y":1)");
  EXPECT_EQ(rig_.fsck(FsckMode::kRepair).size(), 2U);
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
  rig_.complete(rig_.claim(1));
  EXPECT_EQ(rig_.state(second_), TaskState::kPending);
}

TEST_F(RedisRelationsTest, FsckCountsParents) {
  edit(first_, R"("unmet_parents":1)", R"("unmet_parents":3)");
  expect_mended("unmet_parents_wrong task " + first_.to_string() + " waits for 3 parents, but 1 are not done");
  rig_.complete(rig_.claim(1));
  EXPECT_EQ(rig_.state(first_), TaskState::kPending);
}

// Whoever comes upon damage mends what only the rules can mend, too.
TEST_F(RedisRelationsTest, WhatIsBlockedForNothingIsMendedOnTheWay) {
  edit(parent_, R"("dependents":2)", R"("dependents":0)");
  rig_.complete(rig_.claim(1));
  ASSERT_EQ(rig_.state(first_), TaskState::kBlocked);
  ASSERT_FALSE(test::shared_redis().run(redis::Command("SET", rig_.key("counts"), "x")).is_error());
  EXPECT_EQ(code_of(rig_.engine().enqueue_one({.type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(rig_.state(first_), TaskState::kPending);
  EXPECT_EQ(rig_.state(second_), TaskState::kPending);
  EXPECT_EQ(rig_.fsck(), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Kinds, RedisDamageTest,
                         testing::Values(Damage{"LaneOfAnotherType", {"SET", kLane, "x"}},
                                         Damage{"LaneDeleted", {"DEL", kLane}},
                                         Damage{"LanesGroupDestroyed", {"XGROUP", "DESTROY", kLane, "ade-workers"}},
                                         Damage{"LanesOfAnotherType", {"SET", "lanes", "x"}},
                                         Damage{"LanesDeleted", {"DEL", "lanes"}},
                                         Damage{"LeasesOfAnotherType", {"SET", "leases", "x"}},
                                         Damage{"ScheduledOfAnotherType", {"SET", "scheduled", "x"}},
                                         Damage{"CountsOfAnotherType", {"SET", "counts", "x"}},
                                         Damage{"TaskListOfAnotherType", {"SET", "tasks", "x"}},
                                         Damage{"NumbersOfAnotherType", {"SET", "seq", "x"}},
                                         Damage{"EventsOfAnotherType", {"SET", "events", "x"}},
                                         Damage{"LineOfAnotherType", {"SET", "line:work", "x"}},
                                         Damage{"OldestOfAnotherType", {"SET", "oldest:work", "x"}},
                                         Damage{"GroupOfAnotherType", {"SET", "group:work|5|default", "x"}}),
                         [](const auto& one) { return std::string(one.param.name); });

// ---- damaged records

// A word of a record's first line that is written over.
struct BadWord {
  const char* name;
  std::size_t place;
  const char* text;
};
void PrintTo(const BadWord& word, std::ostream* out) {
  *out << word.name;
}

constexpr std::size_t kWholeRecord = 1'000;
constexpr std::size_t kItsJson = 1'001;
constexpr std::size_t kItsType = 1'002;

std::string with_word(std::string record, std::size_t place, std::string_view text) {
  if (place == kWholeRecord) return std::string(text);
  if (place == kItsJson) {
    const std::size_t line = record.find('\n') + 1;
    return record.replace(line, record.find('\n', line) - line, text);
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < place; ++i) from = record.find(' ', from) + 1;
  return record.replace(from, record.find_first_of(" \n", from) - from, text);
}

class RedisBadRecordTest : public testing::TestWithParam<BadWord> {
 protected:
  RedisBadRecordTest() : rig_(test::shared_redis().address(test::fresh_prefix())) {}

  void damage(const TaskId& id) {
    const std::string key = rig_.key("t:" + id.to_string());
    const redis::Reply record = test::shared_redis().run(redis::Command("GET", key));
    const BadWord& word = GetParam();
    if (word.place == kItsType) {
      test::shared_redis().run(redis::Command("DEL", key));
      ASSERT_FALSE(test::shared_redis().run(redis::Command("RPUSH", key, word.text)).is_error());
      return;
    }
    const std::string spoiled = with_word(std::string(must(record.as_text())), word.place, word.text);
    ASSERT_FALSE(test::shared_redis().run(redis::Command("SET", key, spoiled)).is_error());
  }
  void expect_fsck_names(const TaskId& id) {
    std::string all;
    for (const std::string& finding : rig_.fsck()) all += finding + "\n";
    EXPECT_NE(all.find(id.to_string()), std::string::npos) << all;
  }

  Rig rig_;
};

TEST_P(RedisBadRecordTest, WaitingOneStopsNoOther) {
  const TaskId first = rig_.enqueue();
  const TaskId bad = rig_.enqueue();
  const TaskId last = rig_.enqueue();
  damage(bad);
  rig_.complete(rig_.claim(10));
  EXPECT_EQ(rig_.state(first), TaskState::kCompleted);
  EXPECT_EQ(rig_.state(last), TaskState::kCompleted);
  EXPECT_TRUE(rig_.claim(10).empty());
  EXPECT_GE(rig_.count(), 2U);
  expect_fsck_names(bad);
  (void)rig_.fsck(FsckMode::kRepair);
  const TaskId fresh = rig_.enqueue();
  rig_.complete(rig_.claim(10));
  EXPECT_EQ(rig_.state(fresh), TaskState::kCompleted);
}

TEST_P(RedisBadRecordTest, LapsedOneStopsNoSweeper) {
  const TaskId bad = rig_.enqueue();
  const TaskId good = rig_.enqueue();
  const TaskId later = rig_.enqueue({.type = "work", .delay = Millis{1'000}});
  const TaskId bad_later = rig_.enqueue({.type = "work", .delay = Millis{500}});
  ASSERT_EQ(rig_.claim(2).size(), 2U);
  damage(bad);
  damage(bad_later);
  rig_.clock().advance(Millis{60'000});
  must(rig_.sweep());
  rig_.clock().advance(Millis{60'000});
  must(rig_.sweep());
  rig_.complete(rig_.claim(10));
  EXPECT_EQ(rig_.state(good), TaskState::kCompleted);
  EXPECT_EQ(rig_.state(later), TaskState::kCompleted);
  expect_fsck_names(bad);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RedisBadRecordTest,
                         testing::Values(BadWord{"Garbage", kWholeRecord, "x"}, BadWord{"OfAnotherType", kItsType, "x"},
                                         BadWord{"UnknownState", 7, "flying"}, BadWord{"GarbledRevision", 0, "x"},
                                         BadWord{"GarbledBytes", 3, "x"}, BadWord{"GarbledLane", 17, "x"},
                                         BadWord{"GarbledAttempts", 9, "x"}, BadWord{"GarbledPlace", 2, "x"},
                                         BadWord{"GarbledJson", kItsJson, "{"},
                                         BadWord{"UnreadableMember", kItsJson, R"({"created_at":"x"})"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(RedisFaultsTest, LeaseWhoseEndIsLostLastsAWholeOneFromTheRepair) {
  Rig rig(test::shared_redis().address(test::fresh_prefix()));
  const TaskId id = rig.enqueue();
  ASSERT_EQ(rig.claim(1).size(), 1U);
  rig.clock().advance(Millis{20'000});
  test::shared_redis().run(redis::Command("DEL", rig.key("leases")));
  (void)rig.fsck(FsckMode::kRepair);
  rig.clock().advance(Millis{29'999});
  must(rig.sweep());
  EXPECT_EQ(rig.state(id), TaskState::kRunning);
  rig.clock().advance(Millis{1});
  must(rig.sweep());
  EXPECT_EQ(rig.state(id), TaskState::kStalled);
}

TEST(RedisFaultsTest, TaskWithoutItsBodyStopsNoOther) {
  Rig rig(test::shared_redis().address(test::fresh_prefix()));
  const TaskId gone = rig.enqueue();
  const TaskId garbled = rig.enqueue();
  const TaskId whole = rig.enqueue();
  test::shared_redis().run(redis::Command("DEL", rig.key("b:" + gone.to_string())));
  test::shared_redis().run(redis::Command("SET", rig.key("b:" + garbled.to_string()), "nonsense"));
  const std::vector<ClaimedTask> claimed = rig.claim(10);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, whole);
  rig.complete(claimed);
  const std::vector<std::string> findings = rig.fsck();
  EXPECT_NE(std::ranges::find(findings, "body_missing task " + gone.to_string()), findings.end());
  EXPECT_NE(std::ranges::find(findings, "quarantined task " + garbled.to_string()), findings.end());
}

// ---- large calls

TEST(RedisFaultsTest, FsckTakesTheTimeThatItTakes) {
  RedisServer server;
  Rig rig(server.address(), Millis{300});
  rig.enqueue();
  rig.engine().wait_for_work({}, rig.engine().changes(), Millis{1}, {});  // the connection for long calls is there
  server.freeze();
  std::thread patient([&] { EXPECT_EQ(rig.fsck(), std::vector<std::string>{}); });
  EXPECT_EQ(code_of(rig.try_claim(1)), ErrorCode::kStoreUnavailable) << "others wait for their timeout";
  server.thaw();
  patient.join();
}

// More values than Lua passes to one command (8,000).
constexpr int kManyTasks = 9'000;
constexpr Millis kLargeCallTimeout{60'000};

TEST(RedisLargeCallTest, ManyOwnersAreCountedInOneCall) {
  Rig rig(test::shared_redis().address(test::fresh_prefix()), kLargeCallTimeout);
  std::vector<TaskSpec> specs;
  for (int i = 0; i < kManyTasks; ++i) specs.push_back({.type = "work", .owner = "o" + std::to_string(i)});
  ASSERT_EQ(must(rig.engine().enqueue(specs)).size(), specs.size());
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

TEST(RedisLargeCallTest, ManyOfOneLaneEndInOneCall) {
  Rig rig(test::shared_redis().address(test::fresh_prefix()), kLargeCallTimeout);
  must(rig.engine().enqueue(std::vector<TaskSpec>(kManyTasks, TaskSpec{.type = "work"})));
  std::vector<Settlement> ends;
  while (ends.size() < kManyTasks) {
    for (const ClaimedTask& task : rig.claim(1'000)) ends.push_back({task.lease, Completion{}});
  }
  for (const auto& state : rig.engine().settle(ends)) EXPECT_EQ(must(state), TaskState::kCompleted);
  EXPECT_EQ(rig.fsck(), std::vector<std::string>{});
}

}  // namespace
}  // namespace drover
