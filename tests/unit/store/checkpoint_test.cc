// The write-ahead log is folded into the database by the store, and does not grow without bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr std::int64_t kLogBytes = 256 << 10;

SqliteOptions options_at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.ballast_bytes = kNoBallast;
  options.synchronous = SqliteOptions::Synchronous::kNormal;
  options.checkpoint_wal_bytes = kLogBytes;
  options.busy_wait = Millis(200);
  return options;
}

std::int64_t size_of(const std::string& path) {
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

TaskRecord large(int number) {
  TaskRecord record = new_record(number);
  record.task.prompt = std::string(32 << 10, 'p');
  return record;
}

TEST(StoreCheckpoint, TheLogStaysNearItsSize) {
  const TempDir dir;
  StoreUnderTest sut(options_at(dir.file("q.db")));
  std::int64_t largest = 0;
  for (int i = 1; i <= 200; ++i) {
    sut.add(large(i));
    largest = std::max(largest, size_of(dir.file("q.db-wal")));
  }
  EXPECT_GT(size_of(dir.file("q.db")), 100 * (32 << 10));
  EXPECT_LT(largest, 3 * kLogBytes);
}

TEST(StoreCheckpoint, AReaderThatStaysOnlyDelaysItAndHoldsNobodyUp) {
  const TempDir dir;
  const auto start = std::chrono::steady_clock::now();
  StoreUnderTest sut(options_at(dir.file("q.db")));
  sut.add(1);
  {
    RawDatabase reader(dir.file("q.db"));
    reader.run("BEGIN; SELECT count(*) FROM task");
    for (int i = 2; i <= 150; ++i) sut.add(large(i));
    EXPECT_GT(size_of(dir.file("q.db-wal")), 8 * kLogBytes);
    EXPECT_LT(std::chrono::steady_clock::now() - start, Millis(10'000))
        << "a wait at each commit would be 20 s and more";
    EXPECT_EQ(reader.number("SELECT count(*) FROM task"), 1) << "it sees what it began with";
  }
  for (int i = 200; i < 200 + 2 * kLogBytes / (32 << 10); ++i) sut.add(large(i));
  EXPECT_LT(size_of(dir.file("q.db-wal")), 3 * kLogBytes) << "cut soon after it has gone";
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreCheckpoint, ALongLogIsFoldedInAtTheClose) {
  const TempDir dir;
  SqliteOptions options = options_at(dir.file("q.db"));
  options.checkpoint_wal_bytes = 1 << 20;
  StoreUnderTest sut(std::move(options));
  for (int i = 1; i <= 20; ++i) sut.add(large(i));
  ASSERT_GT(size_of(dir.file("q.db-wal")), 512 << 10);
  sut.close();
  EXPECT_EQ(size_of(dir.file("q.db-wal")), 0);
  sut.reopen(dir.file("q.db"));
  EXPECT_EQ(sut.read(id_of(20)).task.prompt->size(), 32U << 10);
}

}  // namespace
}  // namespace drover::test
