#include "core/session_record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/run_report.h"
#include "hooks/test_hooks.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr Time kBegin{Millis{1'000'000'000}};

class SessionRecordTest : public ::testing::Test {
 protected:
  SessionRecord record{.created_at = kBegin, .last_used_at = kBegin};
  SessionPolicy policy{.preflight = "You review.", .idle = 30min};
  Time now = kBegin;
  Task task{.id = TaskId::parse("018f2d6e-0000-7000-8000-000000000001").value_or(TaskId{})};

  void SetUp() override {
    task.bootstrap = R"({"key":"api","text":"Read the API."})";
    task.started_at = now;
    ASSERT_TRUE(join(record, task.id));
  }
  static AgentState agent(std::string id) {
    return {.preset = "claude", .session_id = std::move(id), .host = "here", .workspace = "/w"};
  }
  // How a run of the task ends a minute after it started.
  void run(const Settlement& end, TaskState after, std::optional<std::string> key = "api") {
    task.started_at = now;
    now += 1min;
    record =
        after_run(record, policy, {.before = task, .after = after, .end = end, .bootstrap_key = std::move(key)}, now);
  }
  void complete(const std::string& session_id) {
    run({.lease = {}, .end = Completion{}, .report = {.agent = agent(session_id)}}, TaskState::kCompleted);
  }
  void fail(ErrorClass error_class, TaskState after = TaskState::kFailed) {
    run({.lease = {}, .end = Failure{.error_class = error_class}, .report = {.agent = agent("s1")}}, after);
  }
  [[nodiscard]] SessionStart start() {
    task.started_at = now;
    return start_in(record, policy, task);
  }
};

TEST_F(SessionRecordTest, OneThatBeginsIsToldEverything) {
  EXPECT_EQ(start(), (SessionStart{.preflight = "You review.", .preflight_due = true, .bootstrap_due = true}));
}

TEST_F(SessionRecordTest, ASuccessMarksWhatItWasTold) {
  complete("s1");
  EXPECT_EQ(start(), (SessionStart{.agent = agent("s1"), .preflight = "You review."}));
  EXPECT_EQ(record.runs, 1);
  EXPECT_EQ(record.last_used_at, now);
  EXPECT_TRUE(record.tasks.empty());
}

TEST_F(SessionRecordTest, AFailureMarksNothingAndKeepsTheAgent) {
  fail(ErrorClass::kAgentError, TaskState::kScheduled);
  EXPECT_EQ(record.tasks.size(), 1U);
  const SessionStart again = start();
  EXPECT_TRUE(again.preflight_due);
  EXPECT_TRUE(again.bootstrap_due);
  EXPECT_EQ(again.agent, agent("s1"));
}

TEST_F(SessionRecordTest, PlantedAFailureMarks) {
  plant(PlantedBug::kBootstrapMarkedEarly);
  fail(ErrorClass::kAgentError);
  plant(PlantedBug::kNone);
  EXPECT_FALSE(start().bootstrap_due);
}

TEST_F(SessionRecordTest, ASuspendedRunHasHeardWhatItWasTold) {
  run({.lease = {}, .end = Suspend{}, .report = {.agent = agent("s1")}}, TaskState::kBlocked);
  EXPECT_FALSE(start().bootstrap_due);
  EXPECT_EQ(record.tasks.size(), 1U);
}

TEST_F(SessionRecordTest, OneThatSuspendsOnceTooOftenHasFailed) {
  run({.lease = {}, .end = Suspend{}, .report = {.agent = agent("s1")}}, TaskState::kFailed);
  EXPECT_TRUE(start().bootstrap_due);
}

TEST_F(SessionRecordTest, AnotherAgentSessionKnowsNothing) {
  complete("s1");
  run({.lease = {}, .end = Completion{}, .report = {.agent = agent("s2")}}, TaskState::kCompleted, "web");
  EXPECT_EQ(record.bootstrap_keys, std::vector<std::string>{"web"});
  EXPECT_TRUE(record.preflight_done);
}

TEST_F(SessionRecordTest, AProgramWithoutAnAgentKeepsItsMarks) {
  run({.lease = {}, .end = Completion{}}, TaskState::kCompleted);
  run({.lease = {}, .end = Completion{}, .report = {.agent = agent("")}}, TaskState::kCompleted, "web");
  EXPECT_EQ(record.bootstrap_keys, (std::vector<std::string>{"api", "web"}));
  EXPECT_EQ(record.agent, std::nullopt);
}

TEST_F(SessionRecordTest, TooLongAContextEndsIt) {
  complete("s1");
  fail(ErrorClass::kContextTooLong);
  EXPECT_EQ(record.agent, std::nullopt);
  EXPECT_FALSE(record.preflight_done);
}

TEST_F(SessionRecordTest, WhatNeverBeganChangesNothing) {
  complete("s1");
  const SessionRecord before = record;
  run({.lease = {}, .end = Release{.begun = Begun::kNo}}, TaskState::kPending);
  EXPECT_EQ(record, before);
}

TEST_F(SessionRecordTest, ARunFromBeforeAResetLeavesNothing) {
  task.started_at = now;
  reset(record, now);
  now += 1s;
  record = after_run(record, policy,
                     {.before = task,
                      .after = TaskState::kCompleted,
                      .end = {.lease = {}, .end = Completion{}, .report = {.agent = agent("s1")}}},
                     now);
  EXPECT_EQ(record.agent, std::nullopt);
  EXPECT_TRUE(record.tasks.empty());
  now += 1s;
  complete("s2");
  EXPECT_EQ(record.agent, agent("s2"));
}

TEST_F(SessionRecordTest, IdleForTooLongItBeginsAfresh) {
  complete("s1");
  now += 30min;
  EXPECT_FALSE(is_over(record, policy, now));
  now += 1ms;
  EXPECT_TRUE(is_over(record, policy, now));
  EXPECT_TRUE(start().bootstrap_due);
  EXPECT_EQ(start().agent, std::nullopt);
  complete("s1");
  EXPECT_EQ(record.runs, 1) << "what was told before it was idle does not count";
}

TEST_F(SessionRecordTest, ATaskThatIsToBeginAfreshDoes) {
  complete("s1");
  task.next = next_run_json({.session = SessionUse::kFresh});
  EXPECT_EQ(start().agent, std::nullopt);
  task.next = next_run_json({.session = SessionUse::kResume});
  EXPECT_EQ(start().agent, agent("s1"));
}

TEST_F(SessionRecordTest, ATaskGoesOnWithItsOwnAgentIfTheSessionHasNone) {
  task.agent = agent_json(agent("own"));
  EXPECT_EQ(start().agent, std::nullopt) << "of an earlier generation";
  task.next = next_run_json({.session = SessionUse::kResume});
  EXPECT_EQ(start().agent, agent("own"));
}

TEST_F(SessionRecordTest, RemembersSoManyKeys) {
  for (std::size_t i = 0; i < kBootstrapKeysMax + 3; ++i) {
    run({.lease = {}, .end = Completion{}}, TaskState::kCompleted, "k" + std::to_string(i));
  }
  EXPECT_EQ(record.bootstrap_keys.size(), kBootstrapKeysMax);
  EXPECT_EQ(record.bootstrap_keys.front(), "k3");
}

TEST_F(SessionRecordTest, HoldsSoManyTasks) {
  ASSERT_TRUE(join(record, task.id)) << "twice is once";
  EXPECT_EQ(record.tasks.size(), 1U);
  record.tasks.assign(kSessionTasksMax, TaskId{});
  const Status full = join(record, task.id);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kLimitExceeded);
}

TEST_F(SessionRecordTest, ComesBackFromItsText) {
  complete("s1");
  record.reset_at = kBegin;
  record.tasks.push_back(task.id);
  const auto read = parse_session_record(session_record_json(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, record);
  for (const char* bad : {"", "{}", "[]", R"({"preflight_done":1})"}) EXPECT_FALSE(parse_session_record(bad)) << bad;
  const auto damaged = session_of({.name = "session:a::b", .session = "{"}, now);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kStoreDamaged);
}

TEST_F(SessionRecordTest, InfoTellsItsState) {
  const SessionName name{.owner = "a", .name = "b"};
  const auto state = [&](std::int64_t in_use) { return info_of(name, record, policy, {.in_use = in_use}, now).state; };
  EXPECT_EQ(state(1), SessionState::kBusy);
  EXPECT_EQ(state(0), SessionState::kWaiting);
  record.tasks.clear();
  EXPECT_EQ(state(0), SessionState::kCold);
  complete("s1");
  EXPECT_EQ(state(0), SessionState::kWarm);
  SessionInfo info = info_of(name, record, policy, {}, now);
  info.running = task.id;
  SessionInfo read;
  ASSERT_TRUE(read_json(to_json(info), read));
  EXPECT_EQ(read, info);
}

TEST(SessionNames, AreTakenApartAtTheLastColons) {
  for (const SessionName& name : {SessionName{"alice", "reviewer"}, {"a::b", "c"}, {"a:", "b"}, {":", "b"}}) {
    const std::string gate = session_gate(name);
    EXPECT_TRUE(check_gate_name(gate)) << gate;
    EXPECT_EQ(parse_session_gate(gate), name) << gate;
  }
  for (const char* bad :
       {"session:", "session:a", "session:a:b", "session:::b", "session:a::", "lock:a::b", "session:a::b c"}) {
    EXPECT_EQ(parse_session_gate(bad), std::nullopt) << bad;
  }
  EXPECT_TRUE(check_session_name("reviewer.2@box"));
  for (const char* bad : {"", "a:b", "a b"}) EXPECT_FALSE(check_session_name(bad)) << bad;
}

TEST(SessionGate, HasOnePermitWhateverItIsTold) {
  GateRecord gate{.name = "session:a::b", .revision = 1};
  EXPECT_EQ(limits_of(gate).permits, 1);
  set_hold(gate, {.source = HoldSource::kOperator, .closed_until = std::nullopt, .permits = 5, .why = "", .by = ""});
  EXPECT_EQ(limits_of(gate).permits, 1);
  set_hold(gate, {.source = HoldSource::kOperator, .closed_until = std::nullopt, .permits = 0, .why = "", .by = ""});
  EXPECT_EQ(limits_of(gate).permits, 0);
}

}  // namespace
}  // namespace drover
