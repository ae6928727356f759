#include "server/audit_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace drover::server {
namespace {

class AuditLogTest : public ::testing::Test {
 protected:
  static AuditRecord record(std::string subject = "a task") {
    return {.at = Time{Millis{1'700'000'000'000}},
            .token_id = "abcdefgh",
            .role = "operator",
            .method = "POST",
            .route = "/v1/tasks/{id}/cancel",
            .subject = std::move(subject),
            .from = "192.0.2.7",
            .status = 200};
  }
  void write(int records) const {
    const auto log = test::must(AuditLog::open(path_));
    for (int i = 0; i < records; ++i) log->add(record());
  }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void overwrite(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string complaint() const {
    const auto verified = verify_audit_log(path_);
    return verified ? "none" : verified.error().message;
  }

  test::TempDir folder_;
  const std::string path_ = folder_.file("audit.log");
};

TEST_F(AuditLogTest, IsReadNewestFirstPageByPage) {
  write(25);
  const auto log = test::must(AuditLog::open(path_));
  std::vector<std::int64_t> seqs;
  std::optional<std::int64_t> before;
  do {
    const auto page = test::must(log->page(before, 10));
    for (const std::string& text : page.records) {
      const json::Value value = test::must(json::parse(text));
      seqs.push_back(value.find("seq")->as_int().value_or(0));
      EXPECT_EQ(value.find("prev"), nullptr);
      EXPECT_EQ(value.find("hash"), nullptr);
      EXPECT_EQ(*value.find("token_id")->as_string(), "abcdefgh");
    }
    before = page.next;
  } while (before);
  std::vector<std::int64_t> expected;
  for (std::int64_t seq = 25; seq >= 1; --seq) expected.push_back(seq);
  EXPECT_EQ(seqs, expected);
  EXPECT_TRUE(test::must(log->page(1, 10)).records.empty());
  EXPECT_EQ(test::must(log->page(1'000, 3)).records.size(), 3U);
}

TEST_F(AuditLogTest, AnEmptyOneHasNoRecords) {
  const auto log = test::must(AuditLog::open(path_));
  const auto page = test::must(log->page(std::nullopt, 10));
  EXPECT_TRUE(page.records.empty());
  EXPECT_EQ(page.next, std::nullopt);
}

TEST_F(AuditLogTest, IsAChainAcrossRestarts) {
  write(2);
  write(3);
  const AuditSummary summary = test::must(verify_audit_log(path_));
  EXPECT_EQ(summary.records, 5);
  EXPECT_TRUE(content().ends_with(summary.last_hash + "\"}\n"));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(AuditLogTest, ALineIsOneObjectWhateverTheCallerNames) {
  test::must(AuditLog::open(path_))->add(record("evil\n{\"seq\":2}\xff\x1b[2J" + std::string(1'000, 'x')));
  const std::string text = content();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  const json::Value line = test::must(json::parse(text));
  EXPECT_EQ(*line.find("token_id")->as_string(), "abcdefgh");
  EXPECT_EQ(*line.find("status")->as_int(), 200);
  EXPECT_TRUE(line.find("owner")->is_null());
  EXPECT_LE(line.find("subject")->as_string()->size(), 300U);
  EXPECT_EQ(test::must(verify_audit_log(path_)).records, 1);
}

TEST_F(AuditLogTest, WhatWasChangedTakenOutOrPutInIsNamed) {
  write(4);
  const std::string whole = content();
  std::string changed = whole;
  changed.replace(changed.find("\"status\":200", changed.find("\"seq\":3")), 12, "\"status\":403");
  overwrite(changed);
  EXPECT_NE(complaint().find("line 3: it was changed"), std::string::npos) << complaint();

  const std::size_t second = whole.find('\n') + 1;
  const std::size_t third = whole.find('\n', second) + 1;
  overwrite(whole.substr(0, second) + whole.substr(third));
  EXPECT_NE(complaint().find("line 2: it does not follow"), std::string::npos) << complaint();

  overwrite(whole.substr(0, third) + whole.substr(second));
  EXPECT_NE(complaint().find("line 3: it does not follow"), std::string::npos) << complaint();

  overwrite(whole + "nonsense\n");
  EXPECT_NE(complaint().find("line 5: it is cut off or not a record"), std::string::npos) << complaint();
  EXPECT_FALSE(AuditLog::open(path_)) << "and nothing is put behind it";
}

TEST_F(AuditLogTest, ALineThatACrashHasCutIsTakenAway) {
  write(2);
  const std::string whole = content();
  overwrite(whole + whole.substr(0, 40));
  EXPECT_NE(complaint().find("line 3"), std::string::npos);
  write(1);
  EXPECT_EQ(test::must(verify_audit_log(path_)).records, 3);
}

TEST_F(AuditLogTest, OneServerWritesIt) {
  const auto first = test::must(AuditLog::open(path_));
  const auto second = AuditLog::open(path_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another server is writing to it"), std::string::npos);
}

// A limit on the size of files stands for a disk that is full for a while.
TEST_F(AuditLogTest, AFullDiskIsCountedAndNothingIsLostOnceThereIsRoomAgain) {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGXFSZ, &ignore, &before), 0);
  rlimit room{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &room), 0);
  const rlimit tight{.rlim_cur = 1'000, .rlim_max = room.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  {
    const auto log = test::must(AuditLog::open(path_));
    for (int i = 0; i < 20; ++i) log->add(record());
    while (log->failures() == 0) {
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &room), 0);
    while (log->written() < 20) {
    }
    EXPECT_EQ(log->dropped(), 0U);
  }
  ::sigaction(SIGXFSZ, &before, nullptr);
  EXPECT_EQ(test::must(verify_audit_log(path_)).records, 20);
}

}  // namespace
}  // namespace drover::server
