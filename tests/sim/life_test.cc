// The checker's own table must refuse what the design refuses.
#include "sim/life.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

using namespace std::chrono_literals;

class LifeTest : public testing::Test {
 protected:
  LifeTest() {
    given_.max_attempts = 2;
    given_.max_stalls = 1;
    given_.max_defers = 1;
    given_.retry = {.kind = RetryPolicy::Kind::kFixed, .base = 1s};
  }

  std::optional<Wrong> tell(Life& life, const std::string& name, TaskState state, const std::string& data = "{}") {
    if (name == "claimed") ++run_;
    if (name == "retried" || name == "revived") ++generation_;
    at_ += 1s;
    const Event event{
        .at = at_, .name = "task." + name, .state = state, .run = run_, .generation = generation_, .data = data};
    return life.apply(event, ++place_, at_);
  }
  // Tells a good beginning.
  Life running() {
    Life life(given_, 1);
    EXPECT_FALSE(tell(life, "enqueued", TaskState::kPending));
    EXPECT_FALSE(tell(life, "claimed", TaskState::kRunning));
    return life;
  }
  static std::string check_of(const std::optional<Wrong>& wrong) { return wrong ? wrong->check : "nothing"; }

  Task given_;
  int run_ = 0;
  int generation_ = 1;
  Time at_{};
  std::int64_t place_ = 0;
};

TEST_F(LifeTest, AGoodLifeIsTaken) {
  Life life = running();
  EXPECT_FALSE(tell(life, "progressed", TaskState::kRunning));
  EXPECT_FALSE(tell(life, "stalled", TaskState::kStalled));
  EXPECT_FALSE(tell(life, "claimed", TaskState::kRunning));
  EXPECT_FALSE(tell(life, "retrying", TaskState::kScheduled, R"({"class":"agent_error","delay_ms":1000})"));
  EXPECT_FALSE(tell(life, "due", TaskState::kPending));
  EXPECT_FALSE(tell(life, "claimed", TaskState::kRunning));
  EXPECT_FALSE(tell(life, "failed", TaskState::kFailed, R"({"class":"agent_error"})"));
  EXPECT_FALSE(tell(life, "escalated", TaskState::kFailed, R"({"to":"bob"})"));
  EXPECT_FALSE(tell(life, "retried", TaskState::kPending));
  EXPECT_FALSE(tell(life, "claimed", TaskState::kRunning));
  EXPECT_FALSE(tell(life, "completed", TaskState::kCompleted));
  EXPECT_FALSE(tell(life, "deleted", TaskState::kCompleted));
}

TEST_F(LifeTest, OnlyADeadLetterIsEscalated) {
  Life life = running();
  EXPECT_EQ("P12 events", check_of(tell(life, "escalated", TaskState::kRunning, R"({"to":"bob"})")));
}

TEST_F(LifeTest, ARetryThatWaitsMustNotStartBefore) {
  Life life = running();
  EXPECT_FALSE(tell(life, "failed", TaskState::kFailed, R"({"class":"invalid"})"));
  const std::string later = format_time(at_ + 1h);
  EXPECT_EQ("P9 run_at", check_of(tell(life, "retried", TaskState::kPending, R"({"run_at":")" + later + R"("})")));
}

TEST_F(LifeTest, TwoEndsAreRefused) {
  Life life = running();
  EXPECT_FALSE(tell(life, "completed", TaskState::kCompleted));
  EXPECT_EQ("P5 one end", check_of(tell(life, "failed", TaskState::kFailed, R"({"class":"oom"})")));
}

TEST_F(LifeTest, ASecondClaimIsRefused) {
  Life life = running();
  EXPECT_EQ("P3 one lease", check_of(tell(life, "claimed", TaskState::kRunning)));
}

TEST_F(LifeTest, AnEarlyClaimIsRefused) {
  given_.run_at = at_ + 1h;
  Life life(given_, 1);
  EXPECT_FALSE(tell(life, "enqueued", TaskState::kScheduled));
  Life copy = life;
  EXPECT_EQ("P9 run_at", check_of(tell(copy, "due", TaskState::kPending)));
  EXPECT_EQ("P9 run_at", check_of(tell(life, "claimed", TaskState::kRunning)));
}

TEST_F(LifeTest, MoreStallsThanAllowedAreRefused) {
  Life life = running();
  EXPECT_FALSE(tell(life, "stalled", TaskState::kStalled));
  EXPECT_FALSE(tell(life, "claimed", TaskState::kRunning));
  EXPECT_EQ("P6 caps", check_of(tell(life, "stalled", TaskState::kStalled)));
}

TEST_F(LifeTest, GivingUpWhileAttemptsAreLeftIsRefused) {
  Life life = running();
  EXPECT_EQ("P6 caps", check_of(tell(life, "failed", TaskState::kFailed, R"({"class":"agent_error"})")));
}

TEST_F(LifeTest, AWrongDelayIsRefused) {
  Life life = running();
  EXPECT_EQ("T5 backoff",
            check_of(tell(life, "retrying", TaskState::kScheduled, R"({"class":"agent_error","delay_ms":4000})")));
}

TEST_F(LifeTest, CompletingAfterACancelRequestIsRefused) {
  Life life = running();
  EXPECT_FALSE(tell(life, "cancel_requested", TaskState::kRunning));
  EXPECT_EQ("P7 cancel", check_of(tell(life, "completed", TaskState::kCompleted)));
}

TEST_F(LifeTest, AtMostOnceIsNeverRunAgain) {
  given_.at_most_once = true;
  Life life = running();
  EXPECT_EQ("P4 at most once", check_of(tell(life, "stalled", TaskState::kStalled)));
}

TEST_F(LifeTest, ARowThatSaysOtherwiseIsRefused) {
  Life life = running();
  TaskRecord row{.task = given_, .revision = 2, .lease = LeaseId({1})};
  row.task.state = TaskState::kRunning;
  row.task.worker_id = "w";
  row.task.run = row.task.attempts = 1;
  EXPECT_FALSE(life.compare(row, 0ms));
  row.task.attempts = 2;
  EXPECT_EQ("P12 row and events", check_of(life.compare(row, 0ms)));
}

TEST_F(LifeTest, ALeaseThatOutlivesItsRunIsRefused) {
  Life life = running();
  EXPECT_FALSE(tell(life, "released", TaskState::kPending));
  TaskRecord row{.task = given_, .revision = 3, .lease = LeaseId({1})};
  row.task.run = 1;
  EXPECT_EQ("P3 one lease", check_of(life.compare(row, 0ms)));
}

}  // namespace
}  // namespace drover::sim
