#include "server/recent_events.h"

#include <gtest/gtest.h>

namespace drover::server {
namespace {

Event event(std::int64_t seq, const std::string& owner) {
  Event made;
  made.seq = seq;
  made.owner = owner;
  return made;
}

std::vector<std::int64_t> after(const RecentEvents& recent, std::int64_t seq, const std::optional<std::string>& owner) {
  std::vector<std::int64_t> seqs;
  recent.visit(seq, owner, [&](const RecentEvents::Recent& found) {
    seqs.push_back(found.event().seq);
    return true;
  });
  return seqs;
}

using Seqs = std::vector<std::int64_t>;

TEST(RecentEvents, GivesThoseOfAnOwnerOrOfAll) {
  RecentEvents recent(10, 1'000);
  EXPECT_FALSE(recent.has_begun());
  recent.restart(4);
  recent.add({event(5, "anna"), event(6, "ben"), event(7, "anna")});
  EXPECT_EQ(recent.first(), 4);
  EXPECT_EQ(recent.last(), 7);
  EXPECT_EQ(after(recent, 4, {}), (Seqs{5, 6, 7}));
  EXPECT_EQ(after(recent, 5, "anna"), (Seqs{7}));
  EXPECT_EQ(after(recent, 0, "ben"), (Seqs{6}));
  EXPECT_EQ(after(recent, 7, {}), Seqs{});
  EXPECT_EQ(after(recent, 0, "nobody"), Seqs{});
}

TEST(RecentEvents, MakesTheJsonOfAnEventOnce) {
  RecentEvents recent(10, 1'000);
  recent.restart(0);
  Event told = event(1, "anna");
  told.data = "{}";
  recent.add({told});
  std::vector<const char*> texts;
  for (int watcher = 0; watcher < 2; ++watcher) {
    recent.visit(0, {}, [&](const RecentEvents::Recent& found) {
      texts.push_back(found.json().data());
      return true;
    });
  }
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(RecentEvents, DropsTheOldestBeyondItsBounds) {
  RecentEvents recent(3, 40);
  recent.restart(0);
  for (int seq = 1; seq <= 5; ++seq) recent.add({event(seq, seq % 2 == 0 ? "even" : "odd")});
  EXPECT_EQ(recent.first(), 2);
  EXPECT_EQ(after(recent, recent.first(), {}), (Seqs{3, 4, 5}));
  EXPECT_EQ(after(recent, recent.first(), "even"), (Seqs{4}));
  recent.add({event(6, std::string(38, 'x'))});
  EXPECT_EQ(recent.first(), 5);
  EXPECT_EQ(after(recent, 0, "odd"), Seqs{});
}

TEST(RecentEvents, AVisitEndsWhenItIsToldTo) {
  RecentEvents recent(10, 1'000);
  recent.restart(0);
  recent.add({event(1, "a"), event(2, "a"), event(3, "a")});
  int seen = 0;
  recent.visit(0, "a", [&](const RecentEvents::Recent&) { return ++seen < 2; });
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace drover::server
