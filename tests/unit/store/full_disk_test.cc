// A full disk, for real: a small tmpfs. Mounting needs root, as every run of these tests has it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr std::int64_t kBallast = 1 << 20;

class SmallDisk {
 public:
  SmallDisk() {
    if (::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=12m,mode=0700") != 0) {
      throw std::runtime_error(std::string("cannot mount a tmpfs, which this test needs: ") + std::strerror(errno));
    }
  }
  ~SmallDisk() { ::umount2(dir_.path().c_str(), MNT_DETACH); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return dir_.file(name); }
  [[nodiscard]] std::int64_t free_bytes() const {
    struct statvfs facts{};
    EXPECT_EQ(::statvfs(dir_.path().c_str(), &facts), 0);
    return static_cast<std::int64_t>(facts.f_bavail * facts.f_frsize);
  }
  // Somebody else's file takes all but so much.
  void fill_but(std::int64_t bytes) const {
    const int fd = ::open(file("filler").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    const std::string block(4096, 'x');
    while (free_bytes() > bytes && ::write(fd, block.data(), block.size()) > 0) {
    }
    ::close(fd);
    ASSERT_LE(free_bytes(), bytes);
  }
  void empty() const { std::filesystem::remove(file("filler")); }

 private:
  TempDir dir_;
};

SqliteOptions options_for(const SmallDisk& disk) {
  SqliteOptions options;
  options.path = disk.file("q.db");
  options.ballast_bytes = kBallast;
  return options;
}

TaskRecord with_prompt(int number, std::size_t bytes) {
  TaskRecord record = new_record(number);
  record.task.prompt = std::string(bytes, 'p');
  return record;
}

TEST(StoreFullDisk, NewTasksAreRefusedAndWorkGoesOnFromTheBallast) {
  const SmallDisk disk;
  StoreUnderTest sut(options_for(disk));
  for (int i = 1; i <= 20; ++i) sut.add(i);
  ASSERT_EQ(std::filesystem::file_size(disk.file("q.db-ballast")), static_cast<std::uintmax_t>(kBallast));
  ASSERT_EQ(sut.claim(20).size(), 20U);

  // Nearly full: no new tasks, and nothing of them is stored.
  disk.fill_but(kBallast / 4);
  sut.clock().advance(Millis(1'000));
  EXPECT_EQ(code_of(sut.try_add({new_record(100)})), ErrorCode::kDiskFull);
  EXPECT_EQ(sut.step(id_of(1), trigger::Complete{{.result = "1"}}).task.state, TaskState::kCompleted);
  EXPECT_TRUE(std::filesystem::exists(disk.file("q.db-ballast")));

  // Full to the last block: the ballast makes way for settling, still not for new tasks.
  disk.fill_but(0);
  for (int i = 2; i <= 20; ++i) {
    EXPECT_EQ(sut.step(id_of(i), trigger::Complete{{.result = std::string(5'000, '1')}}).task.state,
              TaskState::kCompleted);
  }
  EXPECT_FALSE(std::filesystem::exists(disk.file("q.db-ballast")));
  sut.clock().advance(Millis(1'000));
  EXPECT_EQ(code_of(sut.try_add({new_record(100)})), ErrorCode::kDiskFull);
  EXPECT_EQ(must(sut->read(std::vector{id_of(100)}, Parts::kHead)).at(0), std::nullopt);

  // Room again: tasks are welcome, and the ballast is back.
  disk.empty();
  sut.clock().advance(Millis(1'000));
  sut.add(100);
  EXPECT_TRUE(std::filesystem::exists(disk.file("q.db-ballast")));
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreFullDisk, ATaskTooLargeForWhatIsLeftIsRefusedWhole) {
  const SmallDisk disk;
  StoreUnderTest sut(options_for(disk));
  sut.add(1);
  disk.fill_but(kBallast);
  EXPECT_EQ(code_of(sut.try_add({with_prompt(2, 3U << 20)})), ErrorCode::kDiskFull);
  EXPECT_TRUE(std::filesystem::exists(disk.file("q.db-ballast")));
  disk.empty();
  sut.clock().advance(Millis(1'000));
  sut.add(with_prompt(2, 1'000));
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreFullDisk, ADiskThatIsFullFromTheStartIsSaidToBeFull) {
  const SmallDisk disk;
  disk.fill_but(0);
  SqliteOptions options = options_for(disk);
  EXPECT_EQ(code_of(open_sqlite(std::move(options))), ErrorCode::kDiskFull);
}

}  // namespace
}  // namespace drover::test
