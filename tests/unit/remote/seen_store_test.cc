// What a client remembers of its server's store.
#include "remote/seen_store.h"

#include <gtest/gtest.h>

#include <map>

namespace drover::remote {
namespace {

class FakeBook final : public MarkBook {
 public:
  std::optional<Mark> read(const std::string& store) override {
    return marks.contains(store) ? std::optional(marks[store]) : std::nullopt;
  }
  void keep(const StoreMark& mark) override { marks[mark.store] = mark.mark; }

  std::map<std::string, Mark> marks;
};

TEST(SeenStore, RemembersTheHighestAnswer) {
  SeenStore seen(nullptr);
  EXPECT_EQ(seen.mark(), std::nullopt);
  seen.take(std::nullopt, "");
  EXPECT_EQ(seen.mark(), std::nullopt) << "a server that says nothing";
  seen.take(std::nullopt, "5:a:1:7");
  seen.take(std::nullopt, "5:a:1:6");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {1, "a", 7}}));
}

// A server that was started on an older copy, and has not heard of what was seen, begins epochs as it likes.
TEST(SeenStore, ALaterEpochCountsOnlyFromAServerThatHasHeard) {
  SeenStore seen(nullptr);
  seen.take(std::nullopt, "5:a:1:7");
  seen.take(std::nullopt, "5:b:2:5");
  seen.take(StoreMark{"5", {1, "a", 4}}, "5:b:2:5");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {1, "a", 7}}));
  seen.take(seen.mark(), "5:b:2:8");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {2, "b", 8}}));
}

TEST(SeenStore, WhatAnEarlierProcessSawIsSentBeforeAnythingElseCounts) {
  const auto book = std::make_shared<FakeBook>();
  book->marks["5"] = {1, "a", 9};
  SeenStore seen(book);
  seen.take(std::nullopt, "5:b:2:8");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {1, "a", 9}}));
  seen.take(seen.mark(), "5:c:3:8");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {3, "c", 8}}));
  EXPECT_EQ(book->marks["5"], (Mark{3, "c", 8}));
}

TEST(SeenStore, AnotherStoreBeginsFromWhatIsKnownOfIt) {
  const auto book = std::make_shared<FakeBook>();
  SeenStore seen(book);
  seen.take(std::nullopt, "5:a:1:7");
  seen.take(seen.mark(), "6:d:1:2");
  EXPECT_EQ(seen.mark(), (StoreMark{"6", {1, "d", 2}}));
  seen.take(seen.mark(), "5:a:1:3");
  EXPECT_EQ(seen.mark(), (StoreMark{"5", {1, "a", 7}})) << "it is known that it was further";
}

}  // namespace
}  // namespace drover::remote
