#include "server/waiting_room.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::server {
namespace {

class WaitingRoomTest : public ::testing::Test {
 protected:
  // Tells the room of one event; the task is that of the test.
  void pulse(TaskState state, const std::string& queue = "work", const std::string& name = "task.enqueued") {
    Event event;
    event.task = id_;
    event.name = name;
    event.queue = queue;
    event.state = state;
    notice({event});
  }
  void notice(std::vector<Event> events, bool missed_some = false) {
    room_.notice({.number = ++number_,
                  .events = std::make_shared<const std::vector<Event>>(std::move(events)),
                  .missed_some = missed_some},
                 now_);
  }
  void wait_for_work(std::vector<std::string> queues, std::uint64_t pulse = 0) {
    add({.for_what = Wait::Work{std::move(queues)}}, pulse);
  }
  void add(Wait wait, std::uint64_t pulse) {
    room_.add(std::move(wait), pulse, now_ + Millis{30'000}, [this](Try attempt) {
      ++calls_;
      last_ = attempt;
    });
  }

  TaskId id_ = *TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ab");
  TaskId other_ = *TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ac");
  MonoTime now_ = system_clock().mono();
  std::uint64_t number_ = 0;
  WaitingRoom room_;
  int calls_ = 0;
  Try last_ = Try::kMayWait;
};

TEST_F(WaitingRoomTest, WhoWaitsForATaskIsCalledByItsEventOnly) {
  add({.for_what = Wait::OfTask{other_}}, 0);
  pulse(TaskState::kCompleted);
  EXPECT_EQ(calls_, 0);
  add({.for_what = Wait::OfTask{id_}}, number_);
  pulse(TaskState::kCompleted);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(room_.size(), 1U);
}

TEST_F(WaitingRoomTest, WhatHappenedWhileTheCallLookedIsNotLost) {
  pulse(TaskState::kCompleted);
  add({.for_what = Wait::OfTask{id_}}, 0);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(room_.size(), 0U);
}

TEST_F(WaitingRoomTest, WhatWasSeenBeforeTheLookDoesNotCount) {
  pulse(TaskState::kCompleted);
  add({.for_what = Wait::OfTask{id_}}, number_);
  EXPECT_EQ(calls_, 0);
}

TEST_F(WaitingRoomTest, OneNewTaskWakesOneWorkerOfItsQueue) {
  wait_for_work({"other"});
  wait_for_work({"work"});
  wait_for_work({"work"});
  pulse(TaskState::kPending);
  EXPECT_EQ(calls_, 1);
  pulse(TaskState::kPending);
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(room_.size(), 1U);
}

TEST_F(WaitingRoomTest, AnEndMayFreeWorkAnywhere) {
  wait_for_work({"other"});
  wait_for_work({"work"});
  pulse(TaskState::kCompleted, "third", "task.completed");
  EXPECT_EQ(calls_, 2);
}

TEST_F(WaitingRoomTest, ManyEndsDoNotWakeEverybodyEachTime) {
  wait_for_work({"work"});
  pulse(TaskState::kCompleted, "third", "task.completed");
  EXPECT_EQ(calls_, 1);
  wait_for_work({"work"}, number_);
  pulse(TaskState::kCompleted, "third", "task.completed");
  EXPECT_EQ(calls_, 1);
  now_ = now_ + Millis{100};
  static_cast<void>(room_.tick(now_));
  EXPECT_EQ(calls_, 2);
}

TEST_F(WaitingRoomTest, WhenPulsesWereMissedEverybodyLooks) {
  add({.for_what = Wait::OfTask{id_}}, 0);
  wait_for_work({"work"});
  notice({}, true);
  EXPECT_EQ(calls_, 2);
}

TEST_F(WaitingRoomTest, ACallIsMadeForTheLastTimeWhenItsTimeIsOver) {
  add({.for_what = Wait::OfTask{id_}}, 0);
  static_cast<void>(room_.tick(now_ + Millis{29'999}));
  EXPECT_EQ(calls_, 0);
  static_cast<void>(room_.tick(now_ + Millis{30'000}));
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(last_, Try::kLast);
}

TEST_F(WaitingRoomTest, EmptyingCallsEverybodyForTheLastTime) {
  add({.for_what = Wait::Change{}}, 0);
  wait_for_work({"work"});
  room_.empty();
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(last_, Try::kLast);
}

}  // namespace
}  // namespace drover::server
