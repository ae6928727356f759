// Opening: new, older, newer, foreign and damaged databases; private files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

// The database that an older program left: its own schema and rows, kept as text.
void restore_fixture(const std::string& path, const std::string& name) {
  const std::string script = content_of(std::string(DROVER_FIXTURES) + "/store/" + name);
  ASSERT_FALSE(script.empty()) << name;
  RawDatabase(path).run(script);
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
  EXPECT_EQ(files, 8) << "database, log, its index, lock, bell, board of claims, ballast, mark";
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
  restore_fixture(path, "schema_v1.sql");
  {
    StoreUnderTest sut(path);
    EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
    const TaskRecord record = sut.read(id_of(1));
    EXPECT_EQ(record.task.state, TaskState::kCompleted);
    EXPECT_EQ(record.task.payload, R"({"file":"a.c"})");
    EXPECT_EQ(record.task.result, R"("built")");
    EXPECT_EQ(must(sut->runs(id_of(1), 10)).size(), 1U);
    EXPECT_EQ(must(sut->events(0, 100)).size(), 4U);
    EXPECT_EQ(must(sut->dependents(id_of(1))).size(), 1U);
    EXPECT_EQ(sut.read(id_of(2)).task.tags, std::vector<std::string>{"night"});
    // The counts that came with the upgrade hold: one task waits.
    EXPECT_EQ(must(sut.try_add({new_record(9)}, {.waiting_max = 1})), std::vector{Applied::kAllFull});
    EXPECT_EQ(must(sut.try_add({new_record(9)}, {.waiting_max = 2})), std::vector{Applied::kDone});
  }
  EXPECT_EQ(RawDatabase(path).text("SELECT value FROM meta WHERE key = 'schema_version'"), "6");
}

TEST(StoreOpen, WaitingTasksOfAnOlderSchemaGetTheirLanes) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  restore_fixture(path, "schema_v2.sql");
  StoreUnderTest sut(path);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  std::vector<LeaseId> leases;
  for (int i = 1; i <= 10; ++i) leases.push_back(lease_of(i));
  std::vector<std::optional<std::string>> payloads;
  const ClaimRequest request{.worker_id = "w", .serves = {{"work", {}}, {"sleep", {}}}, .n = 10};
  for (const TaskRecord& record : must(sut->claim(request, leases, std::nullopt)).records) {
    payloads.push_back(record.task.payload);
  }
  EXPECT_EQ(payloads, (std::vector<std::optional<std::string>>{R"({"file":"a.c"})", R"({"file":"b.c"})", R"({"x":2})",
                                                               R"({"file":"c.c"})", R"({"file":"d.c"})"}));
  const auto queues = must(sut->queues());
  ASSERT_EQ(queues.size(), 4U);
  EXPECT_EQ(queues[3].name, "work");
  EXPECT_EQ(queues[3].tasks[static_cast<std::size_t>(TaskState::kRunning)], 4);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreOpen, WorkersOfAnOlderSchemaCanBeToldToDrain) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  restore_fixture(path, "schema_v3.sql");
  StoreUnderTest sut(path);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  const auto workers = must(sut->workers());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].running, 1);
  EXPECT_FALSE(workers[0].draining);
  EXPECT_TRUE(must(sut->drain_worker({.worker_id = workers[0].id, .why = "upgrade", .by = "ada@box"})));
  EXPECT_EQ(must(sut->workers()).at(0).drain_reason, "upgrade");
  EXPECT_EQ(must(sut->document(DocumentKind::kHealth)).version, 0);
}

TEST(StoreOpen, ADeadLetterOfAnOlderSchemaCanBeEscalated) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  restore_fixture(path, "schema_v3_dead_letter.sql");
  StoreUnderTest sut(path);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  const TaskFilter filter{.error_class = ErrorClass::kAgentError};
  RecordPage page = must(sut->list(filter, 10, std::nullopt, Parts::kAll));
  ASSERT_EQ(page.records.size(), 1U);
  TaskRecord& record = page.records.front();
  EXPECT_EQ(record.task.payload, R"({"file":"a.c"})");
  EXPECT_EQ(record.task.escalation, std::nullopt);
  Step step{.next = record, .expected_revision = record.revision};
  step.next.task.escalation = Escalation{.to = "ada", .by = "bob", .why = "look", .at = Time(Millis(1))};
  const std::vector<StepGroup> groups{{.steps = {step}, .capacity = std::nullopt}};
  EXPECT_EQ(must(sut->apply(groups)), std::vector{Applied::kDone});
  EXPECT_EQ(sut.read(record.task.id).task.escalation, step.next.task.escalation);
}

TEST(StoreOpen, TheFleetsHealthIsKeptByAnUpgrade) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  restore_fixture(path, "schema_v4.sql");
  StoreUnderTest sut(path);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  const StoredDocument health = must(sut->document(DocumentKind::kHealth));
  EXPECT_EQ(health.version, 1);
  EXPECT_NE(health.text.find(R"("kind":"not_served")"), std::string::npos) << health.text;
  EXPECT_TRUE(must(sut->put_document(DocumentKind::kHealth, "{}", 1, {})));
  EXPECT_EQ(must(sut->document(DocumentKind::kHealth)).version, 2);
  EXPECT_EQ(must(sut->document(DocumentKind::kAccessTokens)).version, 0);
}

TEST(StoreOpen, AnUpgradeThatFailsLeavesTheOldSchemaAndItsData) {
  const TempDir dir;
  const std::string path = dir.file("q.db");
  restore_fixture(path, "schema_v1.sql");
  // In the way of what the upgrade makes.
  RawDatabase(path).run("CREATE TABLE counts (x)");
  EXPECT_FALSE(open_at(path).has_value());
  RawDatabase raw(path);
  EXPECT_EQ(raw.text("SELECT value FROM meta WHERE key = 'schema_version'"), "1");
  EXPECT_EQ(raw.number("SELECT count(*) FROM task"), 2);
  raw.run("DROP TABLE counts");
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
  EXPECT_NE(refused.error().message.find("no database"), std::string::npos);
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
