// The power goes at every named step of every verb, and at every single disk operation: what was acknowledged is there
// afterwards, what was not is there whole or not at all.
//
// The database lives on a disk in memory that forgets what was not synced. At each step the disk is copied as a power
// cut would leave it, and the copy is opened by a store of another boot, which must hold exactly what was committed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/sweepers.h"
#include "hooks/test_hooks.h"
#include "sim/power_disk.h"
#include "sim/power_vfs.h"
#include "sim/quiet_side_files.h"
#include "sim/store_dump.h"
#include "store/sqlite/sqlite_store.h"
#include "support/manual_clock.h"
#include "support/must.h"

namespace drover::sim {
namespace {

using namespace std::chrono_literals;
using test::ManualClock;
using test::must;

SqliteOptions options_on(PowerVfs& vfs, Clock& clock, SqliteOptions::Synchronous synchronous) {
  SqliteOptions options;
  options.path = "drover.db";
  options.clock = &clock;
  options.synchronous = synchronous;
  options.ballast_bytes = 0;
  options.checkpoint_wal_bytes = 64 << 10;  // small, so that cuts fall into checkpoints too
  options.vfs = vfs.name();
  options.side_files = std::make_unique<QuietSideFiles>();
  return options;
}

struct Findings {
  int cuts = 0;
  std::map<std::string, int> cuts_at;  // by the name of the step
  int lost = 0;                        // acknowledged, or committed, and not there
  int torn = 0;                        // neither before nor after the verb
  int unclean = 0;                     // does not open, or fsck complains
  std::string first;

  void add(int& count, std::string what) {
    ++count;
    if (first.empty()) first = std::move(what);
  }
};

class PowerCut {
 public:
  PowerCut(std::uint64_t seed, SqliteOptions::Synchronous synchronous, PowerDisk::Sync sync = PowerDisk::Sync::kHonest)
      : rng_(seed), engine_rng_(seed + 1) {
    configure_log(LogLevel::kOff, LogFormat::kText);
    seed_sqlite(seed);
    vfs_ = std::make_unique<PowerVfs>(disk_);
    store_ = must(open_sqlite(options_on(*vfs_, clock_, synchronous)));
    disk_.set_sync(sync);
    engine_ = std::make_unique<Engine>(*store_, engine_rng_);
    before_ = must(dump_store(*store_));
  }
  ~PowerCut() { set_failpoint_handler(nullptr); }
  PowerCut(const PowerCut&) = delete;
  PowerCut& operator=(const PowerCut&) = delete;

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] ManualClock& clock() { return clock_; }
  [[nodiscard]] const Findings& findings() const { return findings_; }
  // The n-th disk operation of a verb, for every n that is a multiple of this; 0: none.
  void set_disk_operation_stride(int stride) { stride_ = stride; }
  // `name` of the step, and how the disk would be.
  std::function<void(const std::string& name, const PowerDisk& disk)> on_cut;

  // The first look at the clocks is a commit of its own, which the first end of a task would make otherwise.
  void look_at_clocks() {
    run([this] { must(Sweepers(*engine_).expire(must(store_->clocks()), 0)); });
  }

  // One verb, which commits once.
  void run(const std::function<void()>& verb) {
    operations_ = 0;
    set_failpoint_handler([this](std::string_view name) { at_failpoint(std::string(name)); });
    disk_.set_hook([this](DiskOp, const std::string&) {
      if (stride_ > 0 && ++operations_ % stride_ == 0) cut("disk operation", Expect::kEither);
      return SQLITE_OK;
    });
    verb();
    set_failpoint_handler(nullptr);
    disk_.set_hook(nullptr);
    const std::string after = must(dump_store(*store_));
    settle_pending(after);
    cut_after_acknowledgement(after);
    before_ = after;
  }

 private:
  static constexpr int kCutsPerFailpoint = 3;
  enum class Expect : std::uint8_t { kBefore, kAfter, kEither };
  struct Pending {
    std::string name;
    Expect expect;
    std::string dump;
  };

  void at_failpoint(const std::string& name) {
    const bool committed = name.ends_with(".after_commit");
    for (int i = 0; i < kCutsPerFailpoint; ++i) cut(name, committed ? Expect::kAfter : Expect::kBefore);
  }

  // What the disk holds after a cut now, seen by a store of the next boot.
  void cut(const std::string& name, Expect expect) {
    if (recovering_) return;
    recovering_ = true;
    ++findings_.cuts;
    ++findings_.cuts_at[name];
    const std::unique_ptr<PowerDisk> disk = disk_.copy_after_cut(rng_);
    if (on_cut) on_cut(name, *disk);
    if (auto dump = recovered(*disk, name)) pending_.push_back({name, expect, *std::move(dump)});
    recovering_ = false;
  }

  std::optional<std::string> recovered(PowerDisk& disk, const std::string& name) {
    PowerVfs vfs(disk);
    next_boot_.reboot();
    auto opened = open_sqlite(options_on(vfs, next_boot_, SqliteOptions::Synchronous::kFull));
    if (!opened) {
      findings_.add(findings_.unclean, fmt::format("cut at {}: {}", name, to_string(opened.error())));
      return std::nullopt;
    }
    const auto problems = (*opened)->fsck(FsckMode::kCheck);
    if (!problems)
      findings_.add(findings_.unclean, fmt::format("cut at {}: fsck: {}", name, to_string(problems.error())));
    if (problems && !problems->empty()) {
      findings_.add(findings_.unclean,
                    fmt::format("cut at {}: fsck: {}: {}", name, problems->front().code, problems->front().detail));
    }
    auto dump = dump_store(**opened);
    if (dump) return *std::move(dump);
    findings_.add(findings_.unclean, fmt::format("cut at {}: {}", name, to_string(dump.error())));
    return std::nullopt;
  }

  void settle_pending(const std::string& after) {
    for (const Pending& pending : pending_) judge(pending, after);
    pending_.clear();
  }

  void judge(const Pending& pending, const std::string& after) {
    const bool is_before = pending.dump == before_;
    const bool is_after = pending.dump == after;
    if (!is_before && !is_after)
      return findings_.add(findings_.torn, fmt::format("cut at {}: neither the state before nor the one after:\n{}",
                                                       pending.name, pending.dump));
    if (pending.expect == Expect::kAfter && !is_after)
      return findings_.add(findings_.lost, fmt::format("cut at {}: the commit is lost", pending.name));
    if (pending.expect == Expect::kBefore && !is_before)
      findings_.add(findings_.torn, fmt::format("cut at {}: there before its commit", pending.name));
  }

  void cut_after_acknowledgement(const std::string& after) {
    cut("acknowledgement", Expect::kAfter);
    settle_pending(after);
  }

  SeededRng rng_;
  SeededRng engine_rng_;
  ManualClock clock_;
  ManualClock next_boot_;
  PowerDisk disk_;
  std::unique_ptr<PowerVfs> vfs_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::string before_;
  std::vector<Pending> pending_;
  Findings findings_;

  int stride_ = 0;
  int operations_ = 0;
  bool recovering_ = false;
};

// Every verb that writes, on tasks in every state that it accepts.
class Story {
 public:
  explicit Story(PowerCut& cut) : cut_(cut) {}

  void tell() {
    cut_.look_at_clocks();
    cut_.run(
        [&] { must(engine().register_worker({.id = "host:1:w", .version = "1", .serves = serves(), .capacity = 4})); });
    enqueue();
    claim_and_talk();
    settle();
    lose_and_retry();
    expire();
  }

 private:
  Engine& engine() { return cut_.engine(); }
  static std::vector<Serve> serves() { return {{"work", std::nullopt}}; }

  std::vector<Enqueued> add(const std::vector<TaskSpec>& specs) {
    std::vector<Enqueued> added;
    cut_.run([&] { added = must(engine().enqueue(specs)); });
    return added;
  }

  Lease claim() {
    Lease lease;
    cut_.run([&] {
      const auto claimed = must(engine().claim({"host:1:w", serves(), 1, 30s}));
      ASSERT_EQ(1U, claimed.size());
      lease = claimed.front().lease;
    });
    return lease;
  }

  void enqueue() {
    for (int i = 0; i < 6; ++i)
      add({{.type = "work", .payload = fmt::format(R"({{"n":{}}})", i), .request_id = fmt::format("r{}", i)}});
    add({{.ref = "a", .type = "work", .payload = std::string(20'000, '1')},
         {.ref = "b", .type = "work", .tags = {"x"}, .depends_on = {"a"}},
         {.ref = "c", .type = "work", .depends_on = {"a", "b"}, .on_parent_failure = OnParentFailure::kFail},
         {.type = "work", .delay = 5s}});
    add({{.type = "work", .payload = R"({"n":0})", .request_id = "r0"}});  // a replay
  }

  void claim_and_talk() {
    for (int i = 0; i < 7; ++i) leases_.push_back(claim());
    cut_.clock().advance(4s);
    cut_.run([&] { must(engine().renew("host:1:w", leases_, 30s)); });
    cut_.run([&] { must(engine().progress(leases_[0], {10, "begun"})); });
    cut_.run([&] { must(engine().checkpoint(leases_[0], R"({"at":1})")); });
    const LogChunk chunk{LogStream::kOut, std::string(3'000, 'x')};
    cut_.run([&] { must(engine().append_log(leases_[0], std::span(&chunk, 1))); });
    const TaskSpec child{.type = "child", .payload = "1"};
    cut_.run([&] { must(engine().spawn(leases_[0], std::span(&child, 1))); });
  }

  void settle() {
    cut_.run([&] { must(engine().complete(leases_[0], {.result = R"({"ok":true})", .exit_code = 0})); });
    cut_.run([&] { must(engine().fail(leases_[1], {.error_class = ErrorClass::kAgentError, .message = "again"})); });
    cut_.run([&] { must(engine().fail(leases_[2], {.error_class = ErrorClass::kRateLimited, .retry_after = 1s})); });
    cut_.run([&] { must(engine().fail(leases_[3], {.error_class = ErrorClass::kInvalid, .message = "no"})); });
    cut_.run([&] { must(engine().release(leases_[4])); });
    cut_.run([&] { must(engine().cancel(leases_[5].task, "enough")); });
    const Settlement confirmed{leases_[5], CancelConfirmed{}};
    cut_.run([&] { must(std::move(engine().settle(std::span(&confirmed, 1)).front())); });
    // The parent of the batch: its dependents change in the same commit.
    cut_.run([&] { must(engine().complete(leases_[6], {.result = "1"})); });
  }

  void lose_and_retry() {
    const Lease lost = claim();
    cut_.clock().advance(31s);
    Sweepers sweepers(engine());
    cut_.run([&] { EXPECT_EQ(1, must(sweepers.reclaim(std::nullopt, 100))); });
    cut_.run([&] { EXPECT_GT(must(sweepers.promote(100)), 0); });
    cut_.run([&] { must(engine().cancel(lost.task, "lost")); });
    cut_.run([&] { must(engine().retry(leases_[3].task)); });
    add({{.type = "late", .deadline = 1s}});
    cut_.clock().advance(2s);
    cut_.run([&] { EXPECT_EQ(1, must(sweepers.enforce_deadlines(100))); });
  }

  void expire() {
    cut_.clock().advance(24h * 8);
    Sweepers sweepers(engine());
    const StoreClocks clocks = must(cut_.store().clocks());
    cut_.run([&] { must(sweepers.expire(clocks, 0)); });  // looks at the clocks
    cut_.run([&] { EXPECT_GT(must(sweepers.expire(clocks, 100)), 0); });
  }

  PowerCut& cut_;
  std::vector<Lease> leases_;
};

int scaled(int count) {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent == nullptr ? count : std::max(1, count * std::atoi(percent) / 100);
}

Findings tell_with_cuts(std::uint64_t seed, SqliteOptions::Synchronous synchronous, int stride,
                        PowerDisk::Sync sync = PowerDisk::Sync::kHonest) {
  PowerCut cut(seed, synchronous, sync);
  cut.set_disk_operation_stride(stride);
  Story(cut).tell();
  return cut.findings();
}

void expect_nothing_lost(const Findings& findings) {
  EXPECT_EQ(0, findings.lost) << findings.first;
  EXPECT_EQ(0, findings.torn) << findings.first;
  EXPECT_EQ(0, findings.unclean) << findings.first;
}

TEST(PowerCut, AtEveryNamedStepNothingAcknowledgedIsLost) {
  for (int seed = 0; seed < scaled(4); ++seed) {
    const Findings findings = tell_with_cuts(static_cast<std::uint64_t>(seed), SqliteOptions::Synchronous::kFull, 0);
    expect_nothing_lost(findings);
    for (const char* verb : {"enqueue", "claim", "settle", "renew", "note", "expire", "fleet"}) {
      for (const char* step : {"begin", "before_commit", "after_commit"})
        EXPECT_TRUE(findings.cuts_at.contains(fmt::format("{}.{}", verb, step)))
            << verb << "." << step << " was never passed";
    }
  }
}

TEST(PowerCut, AtEveryDiskOperationAVerbIsWholeOrNotAtAll) {
  const Findings findings = tell_with_cuts(1000, SqliteOptions::Synchronous::kFull, 2 * std::max(1, 100 / scaled(100)));
  expect_nothing_lost(findings);
  EXPECT_GT(findings.cuts_at.at("disk operation"), scaled(300));
}

TEST(PowerCut, WithoutFullTheLossesAreSeen) {
  const Findings findings = tell_with_cuts(0, SqliteOptions::Synchronous::kNormal, 0);
  EXPECT_GT(findings.lost, 0) << "commits that were not synced must be lost, or this test proves nothing";
}

TEST(PowerCut, OnADiskThatLiesTheLossesAreSeen) {
  const Findings findings = tell_with_cuts(0, SqliteOptions::Synchronous::kFull, 0, PowerDisk::Sync::kLies);
  EXPECT_GT(findings.lost + findings.torn + findings.unclean, 0);
}

// A worker whose settlement was under way sends it again after the reboot: it counts once, wherever the power went.
TEST(PowerCut, ASettlementSentAgainCountsOnce) {
  PowerCut cut(7, SqliteOptions::Synchronous::kFull);
  cut.set_disk_operation_stride(1);
  cut.look_at_clocks();
  TaskId id;
  Lease lease;
  cut.run([&] { id = must(cut.engine().enqueue_one({.type = "work"})).id; });
  cut.run([&] { lease = must(cut.engine().claim({"w", {{"work", std::nullopt}}, 1, 30s})).front().lease; });
  int taken = 0;
  int refused = 0;
  cut.on_cut = [&](const std::string& name, const PowerDisk& crashed) {
    SeededRng rng(1);
    const std::unique_ptr<PowerDisk> disk = crashed.copy_after_cut(rng);
    PowerVfs vfs(*disk);
    ManualClock clock;
    clock.reboot();
    const auto store = must(open_sqlite(options_on(vfs, clock, SqliteOptions::Synchronous::kFull)));
    Engine engine(*store, rng);
    const auto answer = engine.complete(lease, {.result = "1"});
    EXPECT_EQ(std::nullopt, test::code_of(answer)) << name;
    ++(answer && !answer->replayed ? taken : refused);
    const auto events = must(store->events(0, 1'000));
    EXPECT_EQ(1, std::ranges::count(events, "task.completed", &Event::name)) << name;
    EXPECT_EQ(TaskState::kCompleted, must(engine.get(id)).state) << name;
  };
  cut.run([&] { must(cut.engine().complete(lease, {.result = "1"})); });
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
  expect_nothing_lost(cut.findings());
}

}  // namespace
}  // namespace drover::sim
