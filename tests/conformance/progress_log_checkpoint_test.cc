// What a running task says of itself: progress, output, and a note to its next run.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/conformance.h"
#include "core/log_remark.h"

namespace drover::test {
namespace {

class TalksBack : public ConformanceTest {
 protected:
  void write(const Lease& lease, const std::string& text, LogStream stream = LogStream::kOut) {
    const LogChunk chunk{stream, text};
    must(queue().append_log(lease, std::span(&chunk, 1)));
  }
};
ON_EVERY_STORE(TalksBack);

TEST_P(TalksBack, ProgressIsSeen) {
  const Lease lease = start_work();
  must(queue().progress(lease, {40, "reading"}));
  EXPECT_EQ(get(lease.task).progress, (Progress{40, "reading"}));
  must(queue().progress(lease, {60, "writing"}));
  EXPECT_EQ(get(lease.task).progress, (Progress{60, "writing"}));
  EXPECT_EQ(story(lease.task), "enqueued claimed progressed progressed");
  EXPECT_EQ(last_event_of(lease.task).state, TaskState::kRunning);
}

TEST_P(TalksBack, ProgressMayGoBackAndReachBothEnds) {
  const Lease lease = start_work();
  must(queue().progress(lease, {100, ""}));
  must(queue().progress(lease, {0, ""}));
  EXPECT_EQ(get(lease.task).progress, (Progress{0, ""}));
}

TEST_P(TalksBack, ProgressOutOfRangeIsRefused) {
  const Lease lease = start_work();
  const World before = world();
  EXPECT_EQ(code_of(queue().progress(lease, {-1, ""})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().progress(lease, {101, ""})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().progress(lease, {1, "\xff"})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
}

TEST_P(TalksBack, ProgressDoesNotDisturbTheEnd) {
  const Lease lease = start_work();
  must(queue().progress(lease, {40, "reading"}));
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(TalksBack, TheNextRunStartsWithoutProgress) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().progress(lease, {40, "reading"}));
  release(lease);
  EXPECT_EQ(claim_one().task.progress, std::nullopt);
}

TEST_P(TalksBack, TheLogIsKeptInOrder) {
  const Lease lease = start_work();
  write(lease, "one\n");
  advance(1s);
  write(lease, "two\n", LogStream::kErr);
  const std::vector<LogChunk> chunks{{LogStream::kOut, "three\n"}, {LogStream::kDrover, "four\n"}};
  must(queue().append_log(lease, chunks));
  const LogPage page = must(queue().log(lease.task, 0, 100));
  EXPECT_EQ(page.left_out_bytes, 0);
  ASSERT_EQ(page.records.size(), 4U);
  const std::pair<LogStream, const char*> expected[] = {{LogStream::kOut, "one\n"},
                                                        {LogStream::kErr, "two\n"},
                                                        {LogStream::kOut, "three\n"},
                                                        {LogStream::kDrover, "four\n"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(page.records[i].stream, expected[i].first);
    EXPECT_EQ(page.records[i].text, expected[i].second);
    EXPECT_EQ(page.records[i].run, 1);
  }
  EXPECT_TRUE(std::ranges::is_sorted(page.records, {}, &LogRecord::seq));
  EXPECT_EQ(page.records[1].at, now());
}

TEST_P(TalksBack, TheLogIsReadByCursor) {
  const Lease lease = start_work();
  for (int i = 0; i < 10; ++i) write(lease, std::to_string(i));
  std::string text;
  std::int64_t after = 0;
  for (int page = 0; page < 4; ++page) {
    const auto records = must(queue().log(lease.task, after, 3)).records;
    ASSERT_EQ(records.size(), page < 3 ? 3U : 1U);
    for (const LogRecord& record : records) text += record.text;
    after = records.back().seq;
  }
  EXPECT_EQ(text, "0123456789");
  EXPECT_TRUE(must(queue().log(lease.task, after, 3)).records.empty());
  write(lease, "more");
  EXPECT_EQ(must(queue().log(lease.task, after, 3)).records.at(0).text, "more");
}

TEST_P(TalksBack, TheLogOfEveryRunIsKept) {
  const TaskId id = enqueue_work();
  Lease lease = start(id);
  write(lease, "first");
  release(lease);
  lease = start(id);
  write(lease, "second");
  complete(lease);
  const auto records = must(queue().log(id, 0, 100)).records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].run, 1);
  EXPECT_EQ(records[1].run, 2);
  EXPECT_EQ(records[1].text, "second");
}

TEST_P(TalksBack, TheLogSurvivesARestart) {
  const Lease lease = start_work();
  write(lease, "one");
  reopen();
  write(lease, "two");
  EXPECT_EQ(log_text(lease.task), "onetwo");
}

TEST_P(TalksBack, OutputThatIsNoUtf8IsMadeReadable) {
  const Lease lease = start_work();
  write(lease,
        "a\xff"
        "b");
  EXPECT_EQ(log_text(lease.task),
            "a\xEF\xBF\xBD"
            "b");
}

TEST_P(TalksBack, NothingToLogIsNothing) {
  const Lease lease = start_work();
  must(queue().append_log(lease, {}));
  EXPECT_TRUE(must(queue().log(lease.task, 0, 10)).records.empty());
}

TEST_P(TalksBack, ALongLogKeepsItsHeadAndItsTailAndSaysWhatIsMissing) {
  const Lease lease = start_work();
  constexpr int kLines = 3'000;
  std::int64_t written = 0;
  for (int i = 0; i < kLines; ++i) {
    const std::string line = fmt::format("line {:05}{}\n", i, std::string(1'000, '.'));
    written += static_cast<std::int64_t>(line.size());
    write(lease, line);
  }
  std::int64_t left_out = 0;
  std::string kept;
  std::int64_t after = 0;
  for (;;) {
    const LogPage page = must(queue().log(lease.task, after, 1'000));
    if (page.records.empty()) break;
    left_out = page.left_out_bytes;
    for (const LogRecord& record : page.records) kept += record.text;
    after = page.records.back().seq;
  }
  EXPECT_GT(left_out, 0);
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()) + left_out, written);
  EXPECT_TRUE(kept.starts_with("line 00000"));
  EXPECT_NE(kept.find("line 00010"), std::string::npos);
  EXPECT_NE(kept.find("line 02990"), std::string::npos);
  EXPECT_TRUE(kept.ends_with(fmt::format("line {:05}{}\n", kLines - 1, std::string(1'000, '.'))));
}

TEST_P(TalksBack, OutputBelowTheCapIsWhole) {
  const Lease lease = start_work();
  constexpr int kLines = 64;  // the smallest cap, to the byte
  for (int i = 0; i < kLines; ++i) write(lease, std::string(1'024, 'x'));
  std::size_t kept = 0;
  const LogPage page = must(queue().log(lease.task, 0, 1'000));
  for (const LogRecord& record : page.records) kept += record.text.size();
  EXPECT_EQ(kept, kLines * 1'024U);
  EXPECT_EQ(page.left_out_bytes, 0);
}

TEST_P(TalksBack, WhatIsLeftOutIsCountedInPlaceWithWhatTheWorkerLeftOut) {
  const Lease lease = start_work();
  constexpr std::int64_t kWritten = 700'000;
  constexpr std::int64_t kLost = 123'456;
  write(lease, std::string(kWritten, 'x'));
  write(lease, left_out_remark(kLost), LogStream::kDrover);
  write(lease, std::string(3 * kWritten, 'y'));
  std::int64_t accounted = 0;
  std::int64_t left_out = 0;
  int holes = 0;
  for (std::int64_t after = 0;;) {
    const LogPage page = must(queue().log(lease.task, after, 1'000));
    if (page.records.empty()) break;
    left_out = page.left_out_bytes;
    for (const LogRecord& record : page.records) {
      accounted += output_bytes(record.stream, record.text) + record.left_out_before;
      holes += record.left_out_before > 0 ? 1 : 0;
    }
    after = page.records.back().seq;
  }
  EXPECT_EQ(accounted, 4 * kWritten + kLost);
  EXPECT_EQ(holes, 1);
  EXPECT_GT(left_out, kLost);
}

TEST_P(TalksBack, ACappedRunLeavesRoomForTheNext) {
  const TaskId id = enqueue_work();
  Lease lease = start(id);
  for (int i = 0; i < 30; ++i) write(lease, std::string(100'000, 'x'));
  release(lease);
  lease = start(id);
  write(lease, "second");
  std::string last;
  std::int64_t after = 0;
  for (;;) {
    const auto records = must(queue().log(id, after, 1'000)).records;
    if (records.empty()) break;
    last = records.back().text;
    after = records.back().seq;
  }
  EXPECT_EQ(last, "second");
}

TEST_P(TalksBack, ACheckpointIsHandedToTheNextRun) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().checkpoint(lease, R"({"page": 1})"));
  must(queue().checkpoint(lease, R"({"page": 2})"));
  EXPECT_EQ(get(id).checkpoint, R"({"page":2})");
  lose(lease);
  EXPECT_EQ(claim_one().task.checkpoint, R"({"page":2})");
}

TEST_P(TalksBack, ACheckpointLeavesNoEvent) {
  const Lease lease = start_work();
  must(queue().checkpoint(lease, "1"));
  EXPECT_EQ(story(lease.task), "enqueued claimed");
}

TEST_P(TalksBack, ABadCheckpointIsRefused) {
  set_limits(R"({"payload_bytes":10})");
  const Lease lease = start_work();
  must(queue().checkpoint(lease, "1"));
  const World before = world();
  EXPECT_EQ(code_of(queue().checkpoint(lease, "{")), ErrorCode::kInvalidJson);
  EXPECT_EQ(code_of(queue().checkpoint(lease, R"("0123456789")")), ErrorCode::kPayloadTooLarge);
  EXPECT_EQ(world(), before);
}

}  // namespace
}  // namespace drover::test
