// Whoever reads events in order is told when the store went backwards, and goes on with what is new.
#include "core/event_cursor.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/engine.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/temp_dir.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using Numbers = std::vector<std::int64_t>;

// A database file and a queue on it.
class Log {
 public:
  Log(const std::string& path, Clock& clock, std::uint64_t seed)
      : store_(open(path, clock)), rng_(seed), engine_(*store_, rng_) {}

  Store& store() { return *store_; }
  TaskQueue& queue() { return engine_; }
  void add(int count) {
    for (int i = 0; i < count; ++i) must(engine_.enqueue_one({.type = "work"}));
  }

 private:
  static std::unique_ptr<Store> open(const std::string& path, Clock& clock) {
    SqliteOptions options;
    options.path = path;
    options.clock = &clock;
    options.ballast_bytes = 0;
    return must(open_sqlite(std::move(options)));
  }

  std::unique_ptr<Store> store_;
  LockedRng rng_;
  Engine engine_;
};

class EventCursorTest : public ::testing::Test {
 protected:
  // `now` has five events, of which its older copy has two.
  EventCursorTest() {
    {
      Log old(dir_.file("now.db"), clock_, 1);
      old.add(2);
    }
    for (const char* part : {"", "-wal"}) {
      if (fs::exists(dir_.file("now.db") + part)) fs::copy_file(dir_.file("now.db") + part, dir_.file("old.db") + part);
    }
    clock_.advance(Millis{1'000});
    now_.emplace(dir_.file("now.db"), clock_, 2);
    now_->add(3);
    old_.emplace(dir_.file("old.db"), clock_, 3);
  }

  static Numbers numbers(const EventCursor::News& news) {
    Numbers numbers;
    for (const Event& event : news.events) numbers.push_back(event.seq);
    return numbers;
  }
  Numbers read(EventCursor& cursor, Log& log) {
    const EventCursor::News news = must(cursor.next(log.queue(), 100));
    EXPECT_FALSE(news.went_back.has_value());
    return numbers(news);
  }

  TempDir dir_;
  ManualClock clock_;
  std::optional<Log> now_;
  std::optional<Log> old_;
};

TEST_F(EventCursorTest, EachEventComesOnce) {
  EventCursor cursor;
  EventCursor::News news = must(cursor.next(now_->queue(), 3));
  EXPECT_EQ(numbers(news), (Numbers{1, 2, 3}));
  EXPECT_TRUE(news.has_more);
  EXPECT_EQ(read(cursor, *now_), (Numbers{4, 5}));
  EXPECT_EQ(read(cursor, *now_), Numbers());
  now_->add(1);
  EXPECT_EQ(read(cursor, *now_), Numbers{6});
  EventCursor late(4);
  EXPECT_EQ(read(late, *now_), (Numbers{5, 6}));
}

TEST_F(EventCursorTest, AStoreThatIsBehindIsToldAtOnce) {
  EventCursor cursor;
  EXPECT_EQ(read(cursor, *now_).size(), 5U);
  const EventCursor::News news = must(cursor.next(old_->queue(), 100));
  EXPECT_EQ(news.went_back, (EventGap{.after = 5, .seq = 2}));
  EXPECT_EQ(numbers(news), Numbers());
  old_->add(1);
  EXPECT_EQ(read(cursor, *old_), Numbers{3});
}

TEST_F(EventCursorTest, WhatCameSinceTheLossComesToo) {
  EventCursor cursor;
  EXPECT_EQ(read(cursor, *now_).size(), 5U);
  old_->add(2);
  const EventCursor::News news = must(cursor.next(old_->queue(), 100));
  EXPECT_EQ(news.went_back, (EventGap{.after = 5, .seq = 2}));
  EXPECT_EQ(numbers(news), (Numbers{3, 4}));
}

TEST_F(EventCursorTest, AsManyNewEventsHideNothing) {
  EventCursor cursor;
  EXPECT_EQ(read(cursor, *now_).size(), 5U);
  clock_.advance(Millis{1'000});
  old_->add(6);
  const EventCursor::News news = must(cursor.next(old_->queue(), 100));
  EXPECT_EQ(news.went_back, (EventGap{.after = 5, .seq = 2}));
  EXPECT_EQ(numbers(news), (Numbers{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(read(cursor, *old_), Numbers());
}

TEST_F(EventCursorTest, WhatWasNotReadCannotBeMissed) {
  EventCursor cursor;
  EXPECT_EQ(numbers(must(cursor.next(now_->queue(), 2))), (Numbers{1, 2}));
  old_->add(1);
  EXPECT_EQ(read(cursor, *old_), Numbers{3});
}

TEST_F(EventCursorTest, WhatRetentionDeletesIsNoLoss) {
  EventCursor cursor;
  EXPECT_EQ(read(cursor, *now_).size(), 5U);
  now_->add(3);
  must(now_->store().expire(Retention{.events_max = 2}, 1'000));
  EXPECT_EQ(read(cursor, *now_), (Numbers{7, 8}));
  EXPECT_EQ(read(cursor, *now_), Numbers());
}

TEST_F(EventCursorTest, ANumberFromTheFutureIsALoss) {
  EventCursor cursor(100);
  const EventCursor::News news = must(cursor.next(now_->queue(), 100));
  EXPECT_EQ(news.went_back, (EventGap{.after = 100, .seq = 5}));
  EXPECT_EQ(numbers(news), Numbers());
  EXPECT_EQ(to_json(*news.went_back), R"({"kind":"gap","after":100,"seq":5})");
}

}  // namespace
}  // namespace drover::test
