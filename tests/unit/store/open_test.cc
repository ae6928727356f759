// Opening: new, older, newer, foreign and damaged databases; private files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "embedded/sqlite.h"
#include "store/sqlite/schema.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat facts{};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 0777U;
}

Result<std::unique_ptr<Store>> open_at(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.ballast_bytes = kNoBallast;
  return open_sqlite(std::move(options));
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// A newer program: its schema has one table more.
constexpr std::string_view kNextMigration =
    "CREATE TABLE added (x INTEGER) STRICT; INSERT INTO added SELECT count(*) FROM task";

Status open_with_next_schema(const std::string& path) {
  sqlite::Connection db({.path = path});
  return sqlite::prepare_schema(db, path, std::array{embedded::schema_v1_sql, kNextMigration});
}

TEST(StoreOpen, MakesPrivateFoldersAndFiles) {
  const TempDir dir;
  const fs::path folder = dir.path() / "one" / "two";
  const ::mode_t before = ::umask(0);
  {
    SqliteOptions options;
    options.path = folder / "q.db";
    options.ballast_bytes = 1 << 20;
    StoreUnderTest sut(std::move(options));
    sut.add(1);
  }
  ::umask(before);
  EXPECT_EQ(mode_of(dir.path() / "one"), 0700U);
  EXPECT_EQ(mode_of(folder), 0700U);
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 7) << "database, log, its index, lock, bell, ballast, mark";
}

TEST(StoreOpen, WhatWasWrittenIsThereAgain) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  const TaskRecord record = sut.add(1);
  sut.reopen(dir.file("q.db"));
  EXPECT_EQ(sut.read(id_of(1)), record);
}

TEST(StoreOpen, AMemoryStoreIsItsOwn) {
  StoreUnderTest one;
  StoreUnderTest two;
  one.add(1);
  EXPECT_EQ(must(two->read(std::vector{id_of(1)}, Parts::kHead)).at(0), std::nullopt);
}

TEST(StoreOpen, AnOlderSchemaIsBroughtUpToDateWithItsData) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  {
    StoreUnderTest sut(path);
    sut.add(1);
  }
  ASSERT_TRUE(open_with_next_schema(path));
  RawDatabase raw(path);
  EXPECT_EQ(raw.text("SELECT value FROM meta WHERE key = 'schema_version'"), "2");
  EXPECT_EQ(raw.number("SELECT x FROM added"), 1);
  EXPECT_EQ(code_of(open_at(path)), ErrorCode::kSchemaTooNew);
}

TEST(StoreOpen, ANewDatabaseRunsAllMigrations) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  ASSERT_TRUE(open_with_next_schema(path));
  RawDatabase raw(path);
  EXPECT_EQ(raw.text("SELECT value FROM meta WHERE key = 'schema_version'"), "2");
  EXPECT_EQ(raw.number("SELECT x FROM added"), 0);
}

TEST(StoreOpen, AnUpgradeThatFailsLeavesTheOldSchemaAndItsData) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  {
    StoreUnderTest sut(path);
    sut.add(1);
  }
  // In the way of what the upgrade makes.
  RawDatabase(path).run("CREATE TABLE added (y)");
  EXPECT_THROW((void)open_with_next_schema(path), sqlite::SqliteFailure);
  RawDatabase raw(path);
  EXPECT_EQ(raw.text("SELECT value FROM meta WHERE key = 'schema_version'"), "1");
  EXPECT_EQ(raw.number("SELECT count(*) FROM task"), 1);
  raw.run("DROP TABLE added");
  EXPECT_TRUE(open_at(path).has_value());
}

TEST(StoreOpen, ANewerSchemaIsRefusedAndNothingIsChanged) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  {
    StoreUnderTest sut(path);
    sut.add(1);
  }
  RawDatabase(path).run("UPDATE meta SET value = '99' WHERE key = 'schema_version'; PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string before = content_of(path);
  const auto refused = open_at(path);
  ASSERT_EQ(code_of(refused), ErrorCode::kSchemaTooNew);
  EXPECT_NE(refused.error().message.find("99"), std::string::npos);
  EXPECT_EQ(content_of(path), before);
}

TEST(StoreOpen, AProgramThatRunsRefusesItsNextCallOnceANewerOneHasMovedTheSchema) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  sut.add(1);
  // What it does not know any more does not get in the way of saying so.
  RawDatabase(dir.file("q.db"))
      .run(
          "UPDATE meta SET value = '99' WHERE key = 'schema_version'; ALTER TABLE sequence RENAME TO other;"
          "ALTER TABLE task RENAME COLUMN state TO condition");
  const auto refused = sut.try_add({new_record(2)});
  ASSERT_EQ(code_of(refused), ErrorCode::kSchemaTooNew);
  EXPECT_NE(refused.error().message.find("99"), std::string::npos);
  const ClaimRequest request{.worker_id = "w", .serves = {{"build", {}}}, .n = 1};
  EXPECT_EQ(code_of(sut->claim(request, std::vector{lease_of(1)}, std::nullopt)), ErrorCode::kSchemaTooNew);
  EXPECT_EQ(code_of(sut->read(std::vector{id_of(1)}, Parts::kAll)), ErrorCode::kSchemaTooNew);
  EXPECT_EQ(code_of(sut->renew("w", {}, Millis(1'000))), ErrorCode::kSchemaTooNew);
  EXPECT_EQ(code_of(sut->state()), ErrorCode::kSchemaTooNew);
  EXPECT_EQ(code_of(sut->fsck(FsckMode::kCheck)), ErrorCode::kSchemaTooNew);
  EXPECT_EQ(code_of(sut->fsck(FsckMode::kRepair)), ErrorCode::kSchemaTooNew);
}

TEST(StoreOpen, ADatabaseOfAnotherProgramIsRefusedAndNotTouched) {
  const TempDir dir;
  const std::string path = dir.file("other.db");
  RawDatabase(path).run("CREATE TABLE t (x)");
  const std::string before = content_of(path);
  EXPECT_EQ(code_of(open_at(path)), ErrorCode::kStoreDamaged);
  EXPECT_EQ(content_of(path), before);
}

TEST(StoreOpen, AFileThatIsNoDatabaseIsRefusedAndNotTouched) {
  const TempDir dir;
  const std::string path = dir.file("notes.txt");
  const std::string text = "these are my notes, please leave them alone " + std::string(8'192, '.');
  write_file(path, text);
  const auto refused = open_at(path);
  ASSERT_EQ(code_of(refused), ErrorCode::kStoreDamaged);
  EXPECT_NE(refused.error().message.find("not a database"), std::string::npos);
  EXPECT_EQ(content_of(path), text);
}

TEST(StoreOpen, NothingIsPutBesideAFileThatIsNoDatabase) {
  const TempDir dir;
  for (const std::string& text : {std::string("x"), std::string("SQLite format 4\0", 16), std::string(8'192, '.')}) {
    write_file(dir.file("notes.txt"), text);
    EXPECT_EQ(code_of(open_at(dir.file("notes.txt"))), ErrorCode::kStoreDamaged);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
  }
}

TEST(StoreOpen, ADamagedDatabaseIsSaidToBeDamaged) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  {
    StoreUnderTest sut(path);
    for (int i = 1; i <= 200; ++i) sut.add(i);
  }
  RawDatabase(path).run("PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = content_of(path);
  ASSERT_GT(bytes.size(), 16U * 4096);
  // Everything behind the first pages, where the schema is.
  std::fill(bytes.begin() + 8 * 4096, bytes.end(), '\xA5');
  write_file(path, bytes);
  const auto opened = open_at(path);
  if (!opened) {
    EXPECT_EQ(code_of(opened), ErrorCode::kStoreDamaged);
    return;
  }
  const auto findings = (*opened)->fsck(FsckMode::kCheck);
  ASSERT_TRUE(findings.has_value());
  EXPECT_FALSE(findings->empty());
  EXPECT_EQ(findings->front().code, "database_damaged");
  EXPECT_EQ(code_of((*opened)->list({}, 100, std::nullopt, Parts::kAll)), ErrorCode::kStoreDamaged);
}

TEST(StoreOpen, AFolderInsteadOfAFileIsUnavailable) {
  const TempDir dir;
  fs::create_directory(dir.path() / "q.db");
  EXPECT_EQ(code_of(open_at(dir.file("q.db"))), ErrorCode::kStoreUnavailable);
}

TEST(StoreOpen, AnswersWithinTenSecondsByDefault) {
  const SqliteOptions options;
  EXPECT_LT(options.lock_wait + options.busy_wait, std::chrono::seconds(10));
}

}  // namespace
}  // namespace drover::test
