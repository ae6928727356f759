// How events stand in their stream (store/redis/lua/1_events.lua).
#include <gtest/gtest.h>

#include <memory>

#include "support/printers.h"
#include "unit/store_redis/engine_on_redis.h"

namespace drover {
namespace {

using test::must;

class RedisEventsTest : public test::EngineOnRedis {
 protected:
  // Bytes of all entries.
  [[nodiscard]] std::size_t stream_bytes() const {
    std::size_t bytes = 0;
    const redis::Reply reply = server_.run(redis::Command("XRANGE", "{ade}:events", "-", "+"));
    for (const redis::Reply& entry : must(reply.as_array())) {
      const auto fields = must(must(entry.as_array()).subspan(1).front().as_array());
      for (const redis::Reply& field : fields) bytes += must(field.as_text()).size();
    }
    return bytes;
  }
  [[nodiscard]] std::vector<Event> events(std::int64_t after = 0) { return must(store_->events(after, 1'000)); }
};

TEST_F(RedisEventsTest, TasksThatAreAlikeShareTheText) {
  constexpr std::size_t kIdBytes = 37;  // with a blank
  enqueue(100);
  EXPECT_LT(stream_bytes(), 100 * kIdBytes + 200);
}

TEST_F(RedisEventsTest, RetentionCutsBetweenTwoOfThem) {
  enqueue(250);
  const std::vector<Event> all = events();
  const Retention retention{.events_max = 120};
  must(store_->expire(retention, 1'000));
  const std::vector<Event> left = events();
  ASSERT_EQ(left.size(), 120U);
  EXPECT_EQ(left.front().seq, 131);
  EXPECT_EQ(left.front().task, all.at(130).task);
  EXPECT_TRUE(must(store_->fsck(FsckMode::kCheck)).empty());
  must(store_->expire(retention, 1'000));
  EXPECT_EQ(events().size(), 120U);
}

TEST_F(RedisEventsTest, AnEntryWithTextsOfSingleTasksIsRead) {
  enqueue(3);
  const std::string id = events().at(0).task.to_string();
  const std::string text = "task.claimed|" + id + "|work|5|default|work|1||running|1|1|{}";
  const redis::Command add("XADD", "{ade}:events", "5-0", "at", "1000", "e", text, "e", text);
  ASSERT_FALSE(server_.run(add).is_error());
  ASSERT_FALSE(server_.run(redis::Command("HSET", "{ade}:seq", "event", "5")).is_error());
  const std::vector<Event> all = events(3);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].seq, 4);
  EXPECT_EQ(all[1].task.to_string(), id);
  EXPECT_EQ(all[1].name, "task.claimed");
}

}  // namespace
}  // namespace drover
