#include "worker/run_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "support/must.h"
#include "support/temp_dir.h"
#include "unit/worker/fake_queue.h"
#include "worker/door.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

StoreClocks clocks(Millis later = Millis{0}) {
  const Time now = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  return {.wall = now + later, .steady = Millis{1'000'000} + later, .boot = "boot"};
}

RunFiles make(const TempDir& dir, int number) {
  return must(RunFiles::make(dir.file("state"), numbered_task(number).task.id, 1));
}

void fill(const RunFiles& files, std::size_t bytes, std::chrono::hours age) {
  std::ofstream(files.output_path()) << std::string(bytes, 'x');
  const auto when = fs::file_time_type::clock::now() - age;
  fs::last_write_time(files.output_path(), when);
  fs::last_write_time(files.folder(), when);
}

TEST(RunFiles, AreInAFolderThatOnlyWeCanEnter) {
  const TempDir dir;
  const RunFiles files = make(dir, 1);
  EXPECT_EQ(fs::status(files.folder()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(fs::path(files.folder()).parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(dir.file("state")).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(files.door_path().starts_with(files.folder()));
  files.remove_if_empty();
  EXPECT_FALSE(fs::exists(files.folder()));
}

TEST(RunFiles, ALongPathGetsItsDoorElsewhere) {
  const TempDir dir;
  const std::string deep = dir.file(std::string(120, 'd'));
  const RunFiles files = must(RunFiles::make(deep, numbered_task(1).task.id, 1));
  EXPECT_LT(files.door_path().size(), 108U);
  EXPECT_FALSE(files.door_path().starts_with(deep));
  EXPECT_EQ(fs::status(fs::path(files.door_path()).parent_path()).permissions(), fs::perms::owner_all);
}

TEST(RunFiles, AFolderThatOthersCanEnterIsRefused) {
  const TempDir dir;
  fs::create_directories(dir.file("state/runs"));
  ::chmod(dir.file("state/runs").c_str(), 0755);
  EXPECT_EQ(code_of(RunFiles::make(dir.file("state"), numbered_task(1).task.id, 1)), ErrorCode::kInternal);
}

TEST(PruneRunFiles, TakesTheOldOnesAndTheOldestBeyondTheLimit) {
  const TempDir dir;
  const RunFiles ancient = make(dir, 1);
  const RunFiles older = make(dir, 2);
  const RunFiles newer = make(dir, 3);
  fill(ancient, 10, std::chrono::hours(24 * 8));
  fill(older, 600, std::chrono::hours(2));
  fill(newer, 600, std::chrono::hours(1));
  prune_run_files(dir.file("state"), clocks(), {});
  EXPECT_TRUE(fs::exists(ancient.folder())) << "nobody knows yet whether the clock is right";
  prune_run_files(dir.file("state"), clocks(std::chrono::hours(1)), {});
  EXPECT_FALSE(fs::exists(ancient.folder()));
  EXPECT_TRUE(fs::exists(older.folder()));
  prune_run_files(dir.file("state"), clocks(std::chrono::hours(1)), {.bytes_max = 1000});
  EXPECT_FALSE(fs::exists(older.folder()));
  EXPECT_TRUE(fs::exists(newer.folder()));
}

TEST(PruneRunFiles, BelievesNoClockThatSomebodyHasJustSet) {
  const TempDir dir;
  const RunFiles files = make(dir, 1);
  fill(files, 10, std::chrono::hours(1));
  prune_run_files(dir.file("state"), clocks(), {});
  StoreClocks ahead = clocks(std::chrono::hours(2));
  prune_run_files(dir.file("state"), ahead, {});
  ahead.wall += std::chrono::hours(24 * 3'650);
  prune_run_files(dir.file("state"), ahead, {});
  EXPECT_TRUE(fs::exists(files.folder()));
}

TEST(PruneRunFiles, LeavesARunThatIsStillGoingOn) {
  const TempDir dir;
  const RunFiles files = make(dir, 1);
  EventLoop loop;
  ByteBudget budget{kDoorBytesMax};
  const auto door = must(Door::open(loop, budget, files.door_path(), [](const HttpRequest&, const Door::Reply&) {}));
  fill(files, 10, std::chrono::hours(24 * 365));
  prune_run_files(dir.file("state"), clocks(), {.age_max = Millis{0}, .bytes_max = 0});
  EXPECT_TRUE(fs::exists(files.output_path()));
}

TEST(PruneRunFiles, AMissingFolderIsNoTrouble) {
  prune_run_files("/nowhere", clocks(), {});
}

}  // namespace
}  // namespace drover::test
