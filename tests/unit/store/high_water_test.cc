// How far a store has been is remembered, by a process and by those after it.
#include "store/high_water.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::test {
namespace {

using enum Epoch::Cause;

StoreExtent extent_at(std::int64_t seq) {
  return {.epochs = {{1, "a", 0, kCreated}}, .seq = seq};
}

TEST(HighWater, NothingIsGoneOfWhatGrows) {
  HighWater water;
  water.look(water.seen(), extent_at(5));
  EXPECT_TRUE(water.saw(water.seen(), "a", 6));
  EXPECT_TRUE(water.saw(water.seen(), "a", 6));
  EXPECT_TRUE(water.check());
  EXPECT_EQ(water.seen(), (Mark{1, "a", 6}));
}

TEST(HighWater, AStoreThatIsBehindIsLookedAt) {
  HighWater water;
  water.look(water.seen(), extent_at(5));
  EXPECT_FALSE(water.saw(water.seen(), "a", 4));
  EXPECT_FALSE(water.saw(water.seen(), "", 5)) << "its epoch is gone";
  water.look(water.seen(), extent_at(4));
  EXPECT_EQ(code_of(water.check()), ErrorCode::kStoreRegressed);
  EXPECT_EQ(water.loss(), (Loss{5, 5}));
  // It catches up with other events: what is gone is gone.
  EXPECT_TRUE(water.saw(water.seen(), "a", 9));
  EXPECT_EQ(code_of(water.check()), ErrorCode::kStoreRegressed);
}

TEST(HighWater, AnAnswerThatComesLateIsNotBehind) {
  HighWater water;
  const Mark before = water.seen();
  water.look(before, extent_at(5));
  EXPECT_TRUE(water.saw(before, "a", 4)) << "it was asked before 5 was seen";
  water.look(before, extent_at(4));
  EXPECT_TRUE(water.check());
  EXPECT_EQ(water.seen().seq, 5);
}

TEST(HighWater, GoesOnInAnAcceptedEpoch) {
  HighWater water;
  water.look(water.seen(), extent_at(5));
  water.look(water.seen(), extent_at(4));
  StoreExtent accepted = extent_at(5);
  accepted.epochs.push_back({2, "b", 4, kAccepted});
  EXPECT_FALSE(water.saw(water.seen(), "b", 5)) << "another epoch";
  water.look(water.seen(), accepted);
  EXPECT_TRUE(water.check());
  EXPECT_EQ(water.seen(), (Mark{2, "b", 5}));
  EXPECT_FALSE(water.saw(water.seen(), "b", 4));
}

TEST(HighWater, OutlivesTheProcess) {
  const TempDir dir;
  const std::string path = dir.file("new/folder/mark");
  {
    HighWater water(path);
    water.look(water.seen(), extent_at(5));
    EXPECT_TRUE(water.saw(water.seen(), "a", 7));
  }
  HighWater next(path);
  EXPECT_EQ(next.seen(), (Mark{1, "a", 7}));
  next.look(next.seen(), extent_at(6));
  EXPECT_EQ(next.loss(), (Loss{7, 7}));
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(HighWater, AStoreThatRegressedDoesNotLowerTheFile) {
  const TempDir dir;
  must(MarkFile(dir.file("mark")).raise({1, "a", 7}));
  {
    HighWater water(dir.file("mark"));
    water.look(water.seen(), extent_at(3));
    EXPECT_TRUE(water.saw(water.seen(), "a", 4));
  }
  EXPECT_EQ(MarkFile(dir.file("mark")).read(), (Mark{1, "a", 7}));
}

TEST(MarkFile, TheFurtherMarkStays) {
  const TempDir dir;
  const MarkFile file(dir.file("mark"));
  EXPECT_EQ(file.read(), std::nullopt);
  must(file.raise({2, "b", 7}));
  must(file.raise({2, "b", 6}));
  must(file.raise({1, "a", 100}));
  EXPECT_EQ(file.read(), (Mark{2, "b", 7}));
  must(file.raise({3, "c", 1}));
  EXPECT_EQ(file.read(), (Mark{3, "c", 1}));
}

TEST(MarkFile, AGarbledFileSaysNothingAndIsReplaced) {
  const TempDir dir;
  const MarkFile file(dir.file("mark"));
  must(file.raise({2, "b", 7}));
  for (const char* text : {"", "x", "2 b 8", "99 b 7"}) {
    std::fstream(dir.file("mark"), std::ios::in | std::ios::out) << text << (*text == 0 ? "" : " ");
    if (*text != 0) {
      EXPECT_EQ(file.read(), std::nullopt) << text;
    }
    must(file.raise({2, "b", 7}));
    EXPECT_EQ(file.read(), (Mark{2, "b", 7}));
  }
}

TEST(MarkFile, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(MarkFile("/proc/none/mark").raise({1, "a", 1}));
}

}  // namespace
}  // namespace drover::test
