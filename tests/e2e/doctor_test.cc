// Doctor finds what is wrong, says how to mend it, and is content when that is done.
#include "drover/open.h"
#include "e2e/e2e_test.h"
#include "e2e/small_disk.h"
#include "engine/engine.h"
#include "store/sqlite/sqlite_store.h"
#include "support/must.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

// What doctor says of one check, if all is not well.
struct Complaint {
  std::string level;
  std::string subject;
  std::string detail;
  std::string fix;
};

class DoctorTest : public E2eTest {
 protected:
  [[nodiscard]] std::optional<Complaint> complaint(std::string_view check) const {
    const Outcome outcome = sandbox.drover({"doctor", "--json"});
    const auto report = json::parse(outcome.out);
    if (!report) throw std::runtime_error("doctor says: " + outcome.out + outcome.err);
    EXPECT_EQ(outcome.exit_code, at(*report, "verdict") == "fail" ? 1 : 0);
    for (const json::Value& line : *report->find("checks")->as_array()) {
      if (at(line, "check") != check || at(line, "level") == "ok") continue;
      return Complaint{at(line, "level"), at(line, "subject"), at(line, "detail"), at(line, "fix")};
    }
    return std::nullopt;
  }
  // Asks until there is such a complaint.
  [[nodiscard]] Complaint await_complaint(std::string_view check) const {
    for (const Millis end = mono_now() + kHangs; mono_now() < end;) {
      if (const auto found = complaint(check)) return *found;
    }
    ADD_FAILURE() << "no complaint about " << check << ": " << sandbox.drover({"doctor"}).out;
    return {};
  }
  // A process of somebody's own on the same store, without upkeep.
  [[nodiscard]] std::shared_ptr<TaskQueue> open() const {
    return test::must(open_task_queue(sandbox.store_url(), Upkeep::kNone));
  }
  static WorkerInfo worker(const std::string& id, const std::string& version) {
    return {.id = id, .version = version, .serves = {{.queue = "work"}}};
  }
  void apply_policy(std::string_view yaml) const {
    sandbox.write_file("policy.yaml", yaml);
    sandbox.must({"config", "apply", "policy.yaml"});
  }
};

// About the database file, so on SQLite only.
using DoctorFilesTest = DoctorTest;

// The clock of a machine that nobody sets.
class ClockAhead final : public Clock {
 public:
  explicit ClockAhead(Millis by) : by_(by) {}
  [[nodiscard]] Time wall() const override { return system_clock().wall() + by_; }
  [[nodiscard]] MonoTime mono() const override { return system_clock().mono(); }
  [[nodiscard]] std::string boot_id() const override { return system_clock().boot_id(); }

 private:
  Millis by_;
};

TEST_F(DoctorTest, HasNothingToSayOfAQuietStore) {
  std::optional<test::RedisServer> durable;  // the one that tests share keeps nothing
  if (sandbox.store_url().starts_with("redis")) {
    durable.emplace(test::RedisOptions{.appendonly = true, .appendfsync = "always"});
    sandbox.set("DROVER_STORE", durable->url());
  }
  const Outcome outcome = sandbox.drover({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "fail\t")) << outcome.out;
  for (const char* check : {"opens", "answers", "clock", "losses", "version", "not_served", "idle_workers"}) {
    EXPECT_TRUE(contains(outcome.out, std::string("ok\t") + check + "\t")) << check;
  }
}

TEST_F(DoctorTest, AStoreThatIsHalfImported) {
  static_cast<void>(sandbox.enqueue({"work"}));
  const std::string dump = sandbox.must({"export", "-"});
  std::optional<test::RedisServer> other;
  if (sandbox.store_url().starts_with("redis")) {
    other.emplace(test::RedisOptions{.appendonly = true, .appendfsync = "always"});
    sandbox.set("DROVER_STORE", other->url());
  } else {
    sandbox.set("DROVER_STORE", "sqlite:" + sandbox.file("half.db"));
  }
  EXPECT_FALSE(complaint("import"));
  EXPECT_NE(sandbox.drover({"import", "-"}, dump.substr(0, dump.rfind("{"))).exit_code, 0);
  const auto found = complaint("import");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->detail, "the store is incomplete"));
  EXPECT_FALSE(contains(sandbox.drover({"gate", "close", "lock:any"}).err, "warning"));
  const Outcome opened = sandbox.drover({"gate", "open", "all"});
  EXPECT_EQ(opened.exit_code, 0);
  EXPECT_TRUE(contains(opened.err, "warning: an import that is still running or was interrupted had closed it"))
      << opened.err;
  EXPECT_FALSE(contains(sandbox.drover({"gate", "open", "all"}).err, "warning")) << "it was said once";
}

TEST_F(DoctorTest, EverysecOfRedis) {
  test::RedisServer server({.appendonly = true, .appendfsync = "everysec"});
  sandbox.set("DROVER_STORE", server.url());
  const auto found = complaint("durable");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "warn");
  EXPECT_TRUE(contains(found->detail, "two seconds"));
  EXPECT_TRUE(contains(found->fix, "CONFIG SET appendfsync always"));
  server.run(redis::Command("CONFIG", "SET", "appendfsync", "always"));
  EXPECT_FALSE(complaint("durable"));
}

TEST_F(DoctorTest, ARedisThatEvictsKeysCannotBeOpenedAndIsStillDiagnosed) {
  test::RedisServer server({.appendonly = true, .appendfsync = "always", .maxmemory_policy = "allkeys-lru"});
  sandbox.set("DROVER_STORE", server.url());
  const auto found = complaint("eviction");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->detail, "allkeys-lru"));
  EXPECT_TRUE(contains(found->fix, "CONFIG SET maxmemory-policy noeviction"));
  EXPECT_TRUE(complaint("opens"));
  server.run(redis::Command("CONFIG", "SET", "maxmemory-policy", "noeviction"));
  EXPECT_FALSE(complaint("eviction"));
  EXPECT_FALSE(complaint("opens"));
}

TEST_F(DoctorTest, ARedisThatIsNotThere) {
  {
    const test::RedisServer server;
    sandbox.set("DROVER_STORE", server.url());
  }
  const auto found = complaint("server");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->fix, "start it"));
}

TEST_F(DoctorFilesTest, AReadOnlyDatabase) {
  const SmallDisk disk(sandbox.file("store"), 256);
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk here: " << disk.why_not();
  static_cast<void>(sandbox.enqueue({"work"}));
  ASSERT_TRUE(disk.make_read_only());
  const auto found = complaint("writable");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_EQ(found->subject, sandbox.store_path());
  EXPECT_TRUE(contains(found->fix, "remount,rw"));
}

TEST_F(DoctorFilesTest, AFullDisk) {
  const SmallDisk disk(sandbox.file("store"), 256);
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small disk here: " << disk.why_not();
  static_cast<void>(sandbox.enqueue({"work"}));
  disk.fill();
  const auto found = complaint("disk");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->detail, "full"));
  EXPECT_TRUE(contains(found->fix, "make room"));
  disk.empty();
  const auto after = complaint("disk");
  EXPECT_TRUE(!after || after->level == "warn") << after->detail;
}

TEST_F(DoctorFilesTest, AnotherClockThatIsFarOff) {
  ClockAhead clock(std::chrono::hours(2));
  {
    const auto store = test::must(open_sqlite(SqliteOptions{.path = sandbox.store_path(), .clock = &clock}));
    Engine engine(*store, system_rng());
    static_cast<void>(test::must(engine.enqueue_one({.type = "work"})));
  }
  const auto found = complaint("clock");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->detail, "ahead of the store's clock"));
  EXPECT_TRUE(contains(found->fix, "timedatectl set-ntp true"));
}

TEST_F(DoctorTest, TheClockOfARedisThatIsFarOff) {
  const test::ShiftedClock clock(std::chrono::hours(2));
  const test::RedisServer server({.clock = &clock});
  sandbox.set("DROVER_STORE", server.url());
  const auto found = complaint("clock");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "fail");
  EXPECT_TRUE(contains(found->detail, "behind the store's"));
  EXPECT_TRUE(contains(found->fix, "timedatectl set-ntp true"));
}

TEST_F(DoctorFilesTest, FilesThatOthersMayRead) {
  static_cast<void>(sandbox.enqueue({"work"}));
  std::filesystem::permissions(sandbox.store_path(), std::filesystem::perms(0644));
  const auto found = complaint("permissions");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fix, "chmod 600 " + sandbox.store_path());
  std::filesystem::permissions(sandbox.store_path(), std::filesystem::perms(0600));
  EXPECT_FALSE(complaint("permissions"));
}

TEST_F(DoctorTest, AWorkerOnAnOldVersion) {
  const auto queue = open();
  test::must(queue->register_worker(worker("old", "0.0.1")));
  const auto found = complaint("version");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "warn");
  EXPECT_EQ(found->subject, "worker:old");
  EXPECT_TRUE(contains(found->detail, "runs drover 0.0.1; " DROVER_VERSION " is in use"));
  EXPECT_EQ(found->fix, "drover worker drain old --reason upgrade; then start drover " DROVER_VERSION " there");
  sandbox.must({"worker", "drain", "old", "--reason", "upgrade"});
  test::must(queue->unregister_worker("old", "upgrade"));
  test::must(queue->register_worker(worker("new", DROVER_VERSION)));
  EXPECT_FALSE(complaint("version"));
}

// It is there and beats, and takes nothing: its loop hangs.
TEST_F(DoctorTest, WorkThatWaitsWhileAWorkerIsIdle) {
  apply_policy("health: {idle: {warning: 1ms, critical: 1h}}\n");
  const std::string id = sandbox.enqueue({"work"});
  const auto queue = open();
  test::must(queue->register_worker(worker("hangs", DROVER_VERSION)));
  EXPECT_FALSE(test::must(queue->renew("hangs", {}, kLease)).drain);
  const Complaint found = await_complaint("idle_workers");
  EXPECT_EQ(found.level, "warn");
  EXPECT_EQ(found.subject, "queue:work");
  EXPECT_TRUE(contains(found.detail, "while 1 of its workers is idle"));
  EXPECT_EQ(found.fix, "drover explain " + id + "; drover worker list; look at the workers' logs, restart them");
  work_until_empty("work", agentsim());
  EXPECT_FALSE(complaint("idle_workers"));
}

TEST_F(DoctorTest, AQueueThatNobodyServes) {
  static_cast<void>(sandbox.enqueue({"work", "--queue", "eng"}));
  const auto found = complaint("not_served");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, "warn");
  EXPECT_EQ(found->subject, "queue:eng");
  EXPECT_TRUE(contains(found->fix, "drover work --queue eng"));
  EXPECT_EQ(sandbox.drover({"work", "--queue", "eng", "--until-empty", "--", AGENTSIM_BIN}).exit_code, 0);
  EXPECT_FALSE(complaint("not_served"));
}

TEST_F(DoctorTest, AStuckBreaker) {
  apply_policy("types: {work: {breaker: {failures: 1, open: 100ms}}}\n");
  static_cast<void>(sandbox.enqueue({"work", "--max-attempts", "1"}));
  work_until_empty("work", {"/bin/false"});
  const Complaint found = await_complaint("breaker_stuck");
  EXPECT_EQ(found.level, "fail");
  EXPECT_EQ(found.subject, "type:work");
  EXPECT_TRUE(contains(found.fix, "drover gate open type:work"));
  sandbox.must({"gate", "open", "type:work"});
  EXPECT_FALSE(complaint("breaker_stuck"));
}

}  // namespace
}  // namespace drover::e2e
