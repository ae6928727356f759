// How events stand in their stream (store/redis/lua/1_events.lua).
#include <gtest/gtest.h>

#include <memory>

#include "store/redis/pack.h"
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

// As a program with version 1.7 of the library sends it, which was running when this one was loaded.
TEST_F(RedisEventsTest, ProgramsThatTellEachInFullGoOn) {
  enqueue(2);
  const std::string id = "01000000-0000-7000-8000-000000000009";
  const std::string lane = "work|5|default|work|1|";
  const auto now_ms = clock_.wall().time_since_epoch().count();
  const std::string other = events().at(0).task.to_string();
  const std::string body(must(server_.run(redis::Command("GET", "{ade}:b:" + other)).as_text()));
  const std::string stored(must(server_.run(redis::Command("GET", "{ade}:t:" + other)).as_text()));
  redis::Pack added;
  added.put("add").put(3).put("all").put(1'000).put(1).put(1).put(id).put(lane);
  added.put(static_cast<std::int64_t>(body.size())).put(stored.substr(std::string("1 1 1").size())).put(body);
  added.put("task.enqueued|" + id + "|" + lane + "|pending|0|1|{}");
  const redis::Command add("FCALL", "drover_test_enqueue", 1, "{ade}:", now_ms, 1, added.list());
  EXPECT_EQ(must(must(server_.run(add).as_array()).front().as_integer()), 0);
  enqueue(1);

  const std::vector<LeaseId> leases{new_lease_id(rng_), new_lease_id(rng_), new_lease_id(rng_), new_lease_id(rng_)};
  const ClaimRequest request{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 4};
  const auto claimed = must(store_->claim(request, leases, std::nullopt)).records;
  ASSERT_EQ(claimed.size(), 4U);
  EXPECT_EQ(claimed[2].task.id.to_string(), id);
  redis::Command end("FCALL", "drover_test_end_runs", 1, "{ade}:", now_ms, 2, lane, "completed", "", 0, 8, 8, 2);
  for (const TaskRecord& record : {claimed[0], claimed[2]}) {
    const std::string ended = record.task.id.to_string();
    const std::string text = "3 1 1 4 0 0 e completed 1 1 1 ~ ~ 1 ~ ~ 0 " + lane + "\n{\"created_at\":1}\n\n";
    end.add(ended, record.kept.head, text, "task.completed|" + ended + "|" + lane + "|completed|1|1|{}", "1");
  }
  EXPECT_EQ(must(must(server_.run(end).as_array()).back().as_integer()), 0);

  std::vector<std::string> told;
  std::int64_t seq = 0;
  for (const Event& event : events()) {
    EXPECT_EQ(event.seq, ++seq);
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      if (claimed[i].task.id == event.task) told.push_back(event.name + " " + std::to_string(i));
    }
  }
  EXPECT_EQ(told, (std::vector<std::string>{"task.enqueued 0", "task.enqueued 1", "task.enqueued 2", "task.enqueued 3",
                                            "task.claimed 0", "task.claimed 1", "task.claimed 2", "task.claimed 3",
                                            "task.completed 0", "task.completed 2"}));
}

// As a program with version 1.8 of the library adds them: what is that of the task before is told as false.
TEST_F(RedisEventsTest, ProgramsThatPackNewTasksGoOn) {
  enqueue(1);
  const std::string lane = "work|5|default|work|1|";
  const std::string other = events().at(0).task.to_string();
  const std::string body(must(server_.run(redis::Command("GET", "{ade}:b:" + other)).as_text()));
  const std::string stored(must(server_.run(redis::Command("GET", "{ade}:t:" + other)).as_text()));
  const std::string ids[] = {"01000000-0000-7000-8000-000000000008", "01000000-0000-7000-8000-000000000009"};
  redis::Pack added;
  added.put("add").put(3).put("all").put(3).put(2).put(2);
  for (const std::string& id : ids) {
    added.put(id).put(lane).put(static_cast<std::int64_t>(body.size()));
    added.put(stored.substr(std::string("1 1 1").size())).put(body);
    if (id == ids[0]) {
      added.put("task.enqueued|*|" + lane + "|pending|0|1|{}");
    } else {
      added.put(false);
    }
  }
  const redis::Command add("FCALL", "drover_test_enqueue", 1, "{ade}:", clock_.wall().time_since_epoch().count(), 1,
                           added.list());
  EXPECT_EQ(must(must(server_.run(add).as_array()).front().as_integer()), 0);
  EXPECT_EQ(must(must(server_.run(add).as_array()).front().as_integer()), 2) << "they are there";
  enqueue(1);
  const std::vector<Event> all = events();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].task.to_string(), ids[0]);
  EXPECT_EQ(all[2].task.to_string(), ids[1]);
  EXPECT_TRUE(must(store_->fsck(FsckMode::kCheck)).empty());
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
