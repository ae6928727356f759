// The disk that forgets, tried with plain SQLite before anything is trusted to it.
#include "sim/power_vfs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace drover::sim {
namespace {

class Connection {
 public:
  explicit Connection(PowerVfs& vfs, const std::string& synchronous = "FULL") {
    opened_ = sqlite3_open_v2("test.db", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.name().c_str());
    if (opened_ == SQLITE_OK)
      opened_ = run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=" + synchronous);
  }
  ~Connection() { sqlite3_close_v2(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int opened() const { return opened_; }
  int run(const std::string& sql) { return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr); }
  int insert(int value) { return run(fmt::format("INSERT INTO t VALUES ({}, '{}')", value, std::string(700, 'x'))); }
  void checkpoint() { sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr); }

  // What can be read: nothing of a damaged database; integrity() tells.
  std::set<int> values() {
    std::set<int> found;
    const auto add = [](void* out, int, char** columns, char**) {
      static_cast<std::set<int>*>(out)->insert(std::stoi(columns[0]));
      return 0;
    };
    sqlite3_exec(db_, "SELECT value FROM t", add, &found, nullptr);
    return found;
  }

  std::string integrity() {
    std::string answer;
    const auto set = [](void* out, int, char** columns, char**) {
      *static_cast<std::string*>(out) += columns[0];
      return 0;
    };
    const int code = sqlite3_exec(db_, "PRAGMA integrity_check", set, &answer, nullptr);
    return code == SQLITE_OK ? answer : sqlite3_errmsg(db_);
  }

 private:
  sqlite3* db_ = nullptr;
  int opened_ = SQLITE_ERROR;
};

const char* const kSchema = "CREATE TABLE t (value INTEGER PRIMARY KEY, filler TEXT)";

struct CutResult {
  int acknowledged = 0;
  int lost = 0;
  int unknown_kept = 0;  // not acknowledged, yet there
  std::string integrity;
};

// Commits values one by one, with a checkpoint now and then, until the power goes at a random disk operation.
CutResult commit_until_cut(std::uint64_t seed, const std::string& synchronous,
                           PowerDisk::Sync sync = PowerDisk::Sync::kHonest) {
  SeededRng rng(seed);
  seed_sqlite(seed);
  PowerDisk disk;
  {
    PowerVfs vfs(disk);
    Connection setup(vfs);
    EXPECT_EQ(SQLITE_OK, setup.opened());
    EXPECT_EQ(SQLITE_OK, setup.run(kSchema));
  }
  disk.set_sync(sync);
  std::uint64_t operations_left = rng.below(400);
  disk.set_hook([&](DiskOp, const std::string&) {
    if (operations_left-- == 0) disk.cut_power(rng);
    return SQLITE_OK;
  });
  std::set<int> acknowledged;
  {
    PowerVfs vfs(disk);
    Connection writer(vfs, synchronous);
    for (int value = 1; !vfs.dead() && value < 500; ++value) {
      if (writer.insert(value) == SQLITE_OK) acknowledged.insert(value);
      if (rng.below(8) == 0) writer.checkpoint();
    }
    EXPECT_TRUE(vfs.dead());
  }
  disk.set_hook(nullptr);
  PowerVfs vfs(disk);
  Connection reader(vfs);
  CutResult result;
  result.integrity = reader.integrity();
  const std::set<int> kept = reader.values();
  result.acknowledged = static_cast<int>(acknowledged.size());
  for (const int value : acknowledged) result.lost += kept.contains(value) ? 0 : 1;
  for (const int value : kept) result.unknown_kept += acknowledged.contains(value) ? 0 : 1;
  return result;
}

TEST(PowerVfs, FullKeepsEveryAcknowledgedCommitThrough500Cuts) {
  int acknowledged = 0;
  int unknown_kept = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const CutResult result = commit_until_cut(seed, "FULL");
    ASSERT_EQ(0, result.lost) << "seed " << seed;
    ASSERT_EQ("ok", result.integrity) << "seed " << seed;
    ASSERT_LE(result.unknown_kept, 1) << "seed " << seed;
    acknowledged += result.acknowledged;
    unknown_kept += result.unknown_kept;
  }
  EXPECT_GT(acknowledged, 5000);
  EXPECT_GT(unknown_kept, 0) << "no cut fell between a sync and its acknowledgement: the cuts are too tame";
}

TEST(PowerVfs, LossesAreSeenWithoutFull) {
  for (const char* synchronous : {"NORMAL", "OFF"}) {
    int lost = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) lost += commit_until_cut(seed, synchronous).lost;
    EXPECT_GT(lost, 0) << synchronous;
  }
}

TEST(PowerVfs, NormalMayLoseCommitsButNeverDamages) {
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    ASSERT_EQ("ok", commit_until_cut(seed, "NORMAL").integrity) << "seed " << seed;
}

TEST(PowerVfs, LossesAreSeenOnADiskThatLies) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) lost += commit_until_cut(seed, "FULL", PowerDisk::Sync::kLies).lost;
  EXPECT_GT(lost, 0);
}

TEST(PowerVfs, DamageIsSeenWithoutAnySync) {
  int damaged = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) damaged += commit_until_cut(seed, "OFF").integrity == "ok" ? 0 : 1;
  EXPECT_GT(damaged, 0) << "cuts inside an unsynced checkpoint must be able to tear the database";
}

TEST(PowerVfs, ProcessesShareOneDatabaseAndSeeEachOthersCommits) {
  PowerDisk disk;
  PowerVfs a(disk);
  PowerVfs b(disk);
  Connection first(a);
  Connection second(b);
  ASSERT_EQ(SQLITE_OK, first.run(kSchema));
  for (int value = 1; value <= 100; ++value) ASSERT_EQ(SQLITE_OK, (value % 2 == 0 ? first : second).insert(value));
  EXPECT_EQ(100U, first.values().size());
  EXPECT_EQ(100U, second.values().size());
}

TEST(PowerVfs, AWriterLocksOutAnotherUntilItIsKilled) {
  PowerDisk disk;
  PowerVfs a(disk);
  PowerVfs b(disk);
  Connection first(a);
  Connection second(b);
  ASSERT_EQ(SQLITE_OK, first.run(kSchema));
  ASSERT_EQ(SQLITE_OK, first.run("BEGIN IMMEDIATE"));
  ASSERT_EQ(SQLITE_OK, first.insert(1));
  EXPECT_EQ(SQLITE_BUSY, second.insert(2));
  a.kill();
  EXPECT_NE(SQLITE_OK, first.run("COMMIT"));
  ASSERT_EQ(SQLITE_OK, second.insert(2));
  EXPECT_EQ(std::set<int>{2}, second.values());
}

TEST(PowerVfs, WhatAKilledProcessCommittedIsThereForTheOthers) {
  PowerDisk disk;
  {
    PowerVfs killed(disk);
    Connection writer(killed, "OFF");
    ASSERT_EQ(SQLITE_OK, writer.run(kSchema));
    ASSERT_EQ(SQLITE_OK, writer.insert(1));
    killed.kill();
    EXPECT_EQ(SQLITE_IOERR, writer.insert(2) & 0xff);
  }
  PowerVfs vfs(disk);
  Connection reader(vfs);
  EXPECT_EQ(std::set<int>{1}, reader.values());
}

TEST(PowerVfs, CopyAfterCutLeavesTheDiskAlone) {
  SeededRng rng(1);
  PowerDisk disk;
  PowerVfs vfs(disk);
  Connection writer(vfs, "OFF");
  ASSERT_EQ(SQLITE_OK, writer.run(kSchema));
  for (int value = 1; value <= 20; ++value) {
    ASSERT_EQ(SQLITE_OK, writer.insert(value));
    const std::unique_ptr<PowerDisk> copy = disk.copy_after_cut(rng);
    EXPECT_EQ(1U, copy->power_cycles());
  }
  EXPECT_FALSE(vfs.dead());
  EXPECT_EQ(20U, writer.values().size());
}

TEST(PowerVfs, AFullDiskRefusesAndKeepsWhatItHad) {
  PowerDisk disk;
  PowerVfs vfs(disk);
  Connection writer(vfs);
  ASSERT_EQ(SQLITE_OK, writer.run(kSchema));
  disk.set_capacity_bytes(disk.used_bytes() + 20'000);
  int stored = 0;
  while (writer.insert(stored + 1) == SQLITE_OK) ++stored;
  EXPECT_GT(stored, 0);
  EXPECT_LT(stored, 20);
  EXPECT_EQ(static_cast<std::size_t>(stored), writer.values().size());
  disk.set_capacity_bytes(std::nullopt);
  EXPECT_EQ(SQLITE_OK, writer.insert(stored + 1));
}

// SQLite's own method: let the n-th operation fail, for n = 1, 2, … until a run meets no fault any more.
TEST(PowerVfs, EverySingleFaultLeavesAllOrNothing) {
  for (const int code : {SQLITE_IOERR, SQLITE_FULL, SQLITE_NOMEM}) {
    bool met_fault = true;
    for (int nth = 0; met_fault; ++nth) {
      PowerDisk disk;
      PowerVfs vfs(disk);
      Connection writer(vfs);
      ASSERT_EQ(SQLITE_OK, writer.run(kSchema));
      int passed = 0;
      met_fault = false;
      disk.set_hook([&](DiskOp, const std::string&) {
        if (passed++ != nth) return SQLITE_OK;
        met_fault = true;
        return code;
      });
      std::set<int> acknowledged;
      for (int value = 1; value <= 10; ++value) {
        if (writer.insert(value) == SQLITE_OK) acknowledged.insert(value);
        if (value == 5) writer.checkpoint();
      }
      disk.set_hook(nullptr);
      EXPECT_EQ("ok", writer.integrity());
      EXPECT_EQ(acknowledged, writer.values()) << "code " << code << " at " << nth;
      EXPECT_GE(acknowledged.size(), 9U);
      ASSERT_LT(nth, 500);
    }
  }
}

TEST(PowerVfs, TheSameSeedGivesTheSameHistory) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const CutResult first = commit_until_cut(seed, "OFF");
    const CutResult again = commit_until_cut(seed, "OFF");
    EXPECT_EQ(first.acknowledged, again.acknowledged);
    EXPECT_EQ(first.lost, again.lost);
    EXPECT_EQ(first.unknown_kept, again.unknown_kept);
    EXPECT_EQ(first.integrity, again.integrity);
  }
}

}  // namespace
}  // namespace drover::sim
