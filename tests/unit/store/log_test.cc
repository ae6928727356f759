// What a running task says of itself: progress, checkpoint and output within its cap.
#include <gtest/gtest.h>

#include <algorithm>

#include "store/log_piece.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

const Lease kHeld{id_of(1), lease_of(1000)};

Note log_note(const std::string& text, LogStream stream = LogStream::kOut) {
  return {.lease = kHeld, .log = {{stream, text}}};
}

void say(StoreUnderTest& sut, const std::string& text) {
  ASSERT_EQ(must(sut->note(std::vector{log_note(text)})), std::vector{true});
}

std::string text_of(const LogPage& page) {
  std::string text;
  for (const LogRecord& record : page.records) text += record.text;
  return text;
}

SqliteOptions with_cap(std::int64_t bytes) {
  SqliteOptions options;
  options.log_bytes_max = bytes;
  return options;
}

TEST(StoreNotes, AreTakenOnlyUnderTheLiveLease) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  Note stale = log_note("late");
  stale.lease.id = lease_of(5);
  stale.progress = Progress{99, "late"};
  const Note live{.lease = kHeld, .progress = Progress{50, "half"}, .checkpoint = R"({"at":5})"};
  EXPECT_EQ(must(sut->note(std::vector{stale, live})), (std::vector{false, true}));

  const TaskRecord record = sut.read(id_of(1));
  EXPECT_EQ(record.task.progress, (Progress{50, "half"}));
  EXPECT_EQ(record.task.checkpoint, R"({"at":5})");
  EXPECT_EQ(record.revision, 2);
  const std::vector<Event> events = must(sut->events(2, 10));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "task.progressed");
  EXPECT_EQ(events[0].data, R"({"percent":50,"message":"half"})");
  EXPECT_TRUE(must(sut->log(id_of(1), 0, 10)).records.empty());

  sut.step(id_of(1), trigger::Complete{});
  EXPECT_EQ(must(sut->note(std::vector{live})), std::vector{false});
  EXPECT_EQ(sut.read(id_of(1)).task.checkpoint, R"({"at":5})");
}

TEST(StoreLog, IsReadInOrderByCursorAcrossRuns) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  ASSERT_EQ(must(sut->note(std::vector{log_note("one\n"), log_note("two\n", LogStream::kErr)})),
            (std::vector{true, true}));
  sut.step(id_of(1), trigger::Release{});
  sut.claim(1);
  say(sut, "three\n");

  const LogPage all = must(sut->log(id_of(1), 0, 10));
  ASSERT_EQ(all.records.size(), 3U);
  EXPECT_EQ(text_of(all), "one\ntwo\nthree\n");
  EXPECT_EQ(all.records[1].stream, LogStream::kErr);
  EXPECT_EQ(all.records[1].run, 1);
  EXPECT_EQ(all.records[2].run, 2);
  EXPECT_EQ(all.left_out_bytes, 0);
  EXPECT_EQ(text_of(must(sut->log(id_of(1), all.records[0].seq, 1))), "two\n");
  EXPECT_TRUE(must(sut->log(id_of(1), all.records[2].seq, 10)).records.empty());
}

TEST(StoreLog, KeepsTheFirstAndTheLastHalfOfTheCap) {
  StoreUnderTest sut(with_cap(8'000));
  sut.add(1);
  sut.claim(1);
  std::string all;
  for (int i = 0; i < 500; ++i) {
    const std::string line = "line " + std::to_string(i) + " é and more of it\n";
    all += line;
    say(sut, line);
  }
  const LogPage page = must(sut->log(id_of(1), 0, 10'000));
  const std::string kept = text_of(page);
  // Nothing below the cap is lost, so the tail may be longer than its half by less than a piece.
  EXPECT_GE(kept.size(), 8'000U);
  EXPECT_LT(kept.size(), 8'000U + static_cast<std::size_t>(log_piece_bytes_max(4'000)));
  EXPECT_EQ(static_cast<std::int64_t>(kept.size()) + page.left_out_bytes, static_cast<std::int64_t>(all.size()));
  // A head and a tail with one cut between them, each at least most of its half.
  std::size_t head = 0;
  while (head < kept.size() && kept[head] == all[head]) ++head;
  EXPECT_GE(head, 3'900U);
  EXPECT_GE(kept.size() - head, 3'000U);
  EXPECT_TRUE(all.ends_with(kept.substr(head)));
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreLog, OneHugeChunkIsCutBetweenCharacters) {
  StoreUnderTest sut(with_cap(2'000));
  sut.add(1);
  sut.claim(1);
  std::string all;
  for (int i = 0; i < 5'000; ++i) all += "😀";
  say(sut, all);
  const LogPage page = must(sut->log(id_of(1), 0, 10'000));
  for (const LogRecord& record : page.records) EXPECT_EQ(record.text.size() % 4, 0U);
  EXPECT_EQ(static_cast<std::int64_t>(text_of(page).size()) + page.left_out_bytes,
            static_cast<std::int64_t>(all.size()));
  EXPECT_GE(text_of(page).size(), 2'000U);
  EXPECT_LT(text_of(page).size(), 2'000U + static_cast<std::size_t>(log_piece_bytes_max(1'000)));
}

TEST(StoreLog, BytesThatAreNoTextAreKeptAsTheyAre) {
  StoreUnderTest sut(with_cap(100));
  sut.add(1);
  sut.claim(1);
  const std::string bytes(30, '\x80');
  say(sut, bytes);
  EXPECT_EQ(text_of(must(sut->log(id_of(1), 0, 100))), bytes);
}

TEST(StoreLog, EachRunHasACapOfItsOwn) {
  StoreUnderTest sut(with_cap(1'000));
  sut.add(1);
  sut.claim(1);
  say(sut, std::string(5'000, 'a'));
  sut.step(id_of(1), trigger::Release{});
  sut.claim(1);
  say(sut, std::string(800, 'b'));
  const LogPage page = must(sut->log(id_of(1), 0, 1'000));
  EXPECT_EQ(std::ranges::count(text_of(page), 'b'), 800);
  EXPECT_EQ(page.left_out_bytes, 5'000 - std::ranges::count(text_of(page), 'a'));
  const std::int64_t last_of_first = page.records[page.records.size() - 1].seq;
  EXPECT_EQ(must(sut->log(id_of(1), last_of_first - 1, 10)).left_out_bytes, 0);
}

}  // namespace
}  // namespace drover::test
