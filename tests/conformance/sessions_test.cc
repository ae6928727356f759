// Sessions: one task at a time, the next one goes on with the agent of the last, and what is told once is told once.
#include <algorithm>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

const SessionName kReviewer{.owner = "default", .name = "reviewer"};

class Sessions : public ConformanceTest {
 protected:
  static TaskSpec in_session(std::string name = "reviewer") { return {.type = "work", .session = std::move(name)}; }
  static TaskSpec with_bootstrap(const std::string& key) {
    TaskSpec spec = in_session();
    spec.bootstrap = R"({"key":")" + key + R"(","text":"know this"})";
    return spec;
  }
  static RunReport said_by(const std::string& session_id, bool resumed = false) {
    return {.agent = AgentState{
                .preset = "claude", .session_id = session_id, .host = "here", .workspace = "/w", .resumed = resumed}};
  }
  TaskState complete_as(const Lease& lease, const RunReport& report) {
    return settle({.lease = lease, .end = Completion{}, .report = report});
  }
  TaskState fail_as(const Lease& lease, const RunReport& report, ErrorClass error_class = ErrorClass::kAgentError) {
    return settle({.lease = lease, .end = Failure{.error_class = error_class, .message = "no"}, .report = report});
  }
  SessionInfo session() { return must(queue().session(kReviewer)); }
  SessionStart start_of(const ClaimedTask& claimed) { return claimed.session.value_or(SessionStart{}); }
};
ON_EVERY_STORE(Sessions);

TEST_P(Sessions, RunOneTaskAtATimeInTheOrderInWhichTheyCame) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(enqueue(in_session()));
  const TaskId free = enqueue_work();
  std::vector<TaskId> order;
  for (int i = 0; i < 10; ++i) {
    std::vector<ClaimedTask> claimed = claim(20);
    std::erase_if(claimed, [&](const ClaimedTask& one) { return one.task.id == free; });
    ASSERT_EQ(claimed.size(), 1U);
    EXPECT_EQ(session().state, SessionState::kBusy);
    EXPECT_EQ(session().running, claimed[0].task.id);
    order.push_back(claimed[0].task.id);
    complete(claimed[0].lease);
  }
  EXPECT_EQ(order, ids);
  EXPECT_TRUE(session().tasks.empty());
}

TEST_P(Sessions, OfOtherNamesAndOwnersGoOnBeside) {
  enqueue(in_session());
  enqueue(in_session("writer"));
  TaskSpec other = in_session();
  other.owner = "bob";
  enqueue(other);
  EXPECT_EQ(claim(5).size(), 3U);
}

// Whatever they are called.
TEST_P(Sessions, NeverShareAGateBetweenOwners) {
  TaskSpec first = in_session("c");
  first.owner = "a::b";
  TaskSpec second = in_session("c");
  second.owner = "a";
  enqueue(first);
  enqueue(second);
  EXPECT_EQ(claim(5).size(), 2U);
  EXPECT_EQ(must(queue().sessions({.owner = "a"})).sessions.size(), 1U);
  EXPECT_EQ(must(queue().sessions({.owner = "a::b"})).sessions.size(), 1U);
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .session = "b:c"})), ErrorCode::kInvalidArgument);
}

TEST_P(Sessions, TypesAndPrioritiesShareTheOnePermit) {
  TaskSpec urgent = in_session();
  urgent.priority = 0;
  TaskSpec other{.type = "other", .queue = "work", .session = "reviewer"};
  enqueue(in_session());
  enqueue(urgent);
  enqueue(other);
  for (int left = 3; left > 0; --left) {
    const auto claimed = claim(5);
    ASSERT_EQ(claimed.size(), 1U);
    complete(claimed[0].lease);
  }
  EXPECT_TRUE(claim(5).empty());
}

TEST_P(Sessions, TheNextTaskGoesOnWithTheAgent) {
  enqueue(in_session());
  enqueue(in_session());
  const ClaimedTask first = claim_one();
  ASSERT_TRUE(first.session);
  EXPECT_EQ(start_of(first).agent, std::nullopt);
  complete_as(first.lease, said_by("s1"));
  EXPECT_EQ(session().state, SessionState::kWaiting);
  const ClaimedTask second = claim_one();
  ASSERT_TRUE(start_of(second).agent);
  EXPECT_EQ(start_of(second).agent->session_id, "s1");
  EXPECT_EQ(start_of(second).agent->host, "here");
  complete_as(second.lease, said_by("s1", true));
  EXPECT_EQ(session().state, SessionState::kWarm);
  EXPECT_EQ(session().runs, 2);
}

TEST_P(Sessions, ATaskOutsideHasNone) {
  enqueue_work();
  EXPECT_FALSE(claim_one().session);
}

TEST_P(Sessions, TellPreflightAndBootstrapOnce) {
  apply_config(R"({"sessions":{"reviewer":{"preflight":"You review.","idle":"30m"}}})");
  enqueue(with_bootstrap("api"));
  enqueue(with_bootstrap("api"));
  enqueue(with_bootstrap("web"));
  const ClaimedTask first = claim_one();
  EXPECT_EQ(start_of(first).preflight, "You review.");
  EXPECT_TRUE(start_of(first).preflight_due);
  EXPECT_TRUE(start_of(first).bootstrap_due);
  complete_as(first.lease, said_by("s1"));
  const ClaimedTask second = claim_one();
  EXPECT_EQ(start_of(second).preflight, "You review.");
  EXPECT_FALSE(start_of(second).preflight_due);
  EXPECT_FALSE(start_of(second).bootstrap_due);
  complete_as(second.lease, said_by("s1", true));
  const ClaimedTask third = claim_one();
  EXPECT_FALSE(start_of(third).preflight_due);
  EXPECT_TRUE(start_of(third).bootstrap_due);
  complete_as(third.lease, said_by("s1", true));
  EXPECT_EQ(session().bootstrap_keys, (std::vector<std::string>{"api", "web"}));
}

TEST_P(Sessions, AFailedRunMarksNothing) {
  TaskSpec spec = with_bootstrap("api");
  spec.retry = RetryPolicy{.kind = RetryPolicy::Kind::kFixed, .base = Millis{0}};
  enqueue(spec);
  fail_as(claim_one().lease, said_by("s1"));
  EXPECT_FALSE(session().preflight_done);
  EXPECT_TRUE(session().bootstrap_keys.empty());
  const ClaimedTask again = claim_one();
  EXPECT_TRUE(start_of(again).preflight_due);
  EXPECT_TRUE(start_of(again).bootstrap_due);
  ASSERT_TRUE(start_of(again).agent);
  complete_as(again.lease, said_by("s1", true));
  EXPECT_EQ(session().bootstrap_keys, std::vector<std::string>{"api"});
}

// It was told nothing of what the one before it knew.
TEST_P(Sessions, AnAgentThatBeganAfreshIsToldAgain) {
  enqueue(with_bootstrap("api"));
  complete_as(claim_one().lease, said_by("s1"));
  enqueue(with_bootstrap("web"));
  complete_as(claim_one().lease, said_by("s2"));
  EXPECT_EQ(session().bootstrap_keys, std::vector<std::string>{"web"});
  EXPECT_EQ(session().agent.value_or(AgentState{}).session_id, "s2");
}

TEST_P(Sessions, ThatGrewTooLongBeginAfresh) {
  enqueue(in_session());
  complete_as(claim_one().lease, said_by("s1"));
  enqueue({.type = "work", .session = "reviewer", .max_attempts = 1});
  fail_as(claim_one().lease, said_by("s1", true), ErrorClass::kContextTooLong);
  EXPECT_EQ(session().state, SessionState::kCold);
}

TEST_P(Sessions, BeginAfreshAfterBeingIdle) {
  apply_config(R"({"sessions":{"reviewer":{"preflight":"You review.","idle":"30m"}}})");
  enqueue(with_bootstrap("api"));
  complete_as(claim_one().lease, said_by("s1"));
  pass(29min);
  EXPECT_EQ(session().state, SessionState::kWarm);
  pass(2min);
  enqueue(with_bootstrap("api"));
  const ClaimedTask late = claim_one();
  EXPECT_EQ(start_of(late).agent, std::nullopt);
  EXPECT_TRUE(start_of(late).preflight_due);
  EXPECT_TRUE(start_of(late).bootstrap_due);
  complete_as(late.lease, said_by("s2"));
  EXPECT_EQ(session().runs, 1);
}

TEST_P(Sessions, AreForgottenWhenNobodyUsesThem) {
  enqueue(in_session());
  complete_as(claim_one().lease, said_by("s1"));
  pass(25h);
  pass(2min);
  EXPECT_EQ(code_of(queue().session(kReviewer)), ErrorCode::kNotFound);
  EXPECT_TRUE(must(queue().sessions({})).sessions.empty());
}

TEST_P(Sessions, ARejectingTaskIsRefusedWhileAnotherHasNotEnded) {
  TaskSpec rejecting = in_session();
  rejecting.busy = BusyRule::kReject;
  const TaskId first = enqueue(rejecting);
  const World before = world();
  const auto refused = queue().enqueue_one(rejecting);
  EXPECT_EQ(code_of(refused), ErrorCode::kSessionBusy);
  EXPECT_TRUE(refused.error().message.contains(first.to_string()));
  EXPECT_EQ(world(), before);
  const Lease lease = start(first);
  EXPECT_EQ(code_of(queue().enqueue_one(rejecting)), ErrorCode::kSessionBusy);
  complete(lease);
  enqueue(rejecting);
}

TEST_P(Sessions, ACancelledTaskKeepsNobodyOut) {
  TaskSpec rejecting = in_session();
  rejecting.busy = BusyRule::kReject;
  cancel(enqueue(rejecting));
  const TaskId second = enqueue(rejecting);
  const Lease lease = start(second);
  lose(lease);
  EXPECT_EQ(code_of(queue().enqueue_one(rejecting)), ErrorCode::kSessionBusy);
}

TEST_P(Sessions, AnInterruptCancelsTheOthers) {
  const TaskId running = enqueue(in_session());
  const Lease lease = start(running);
  const TaskId waiting = enqueue(in_session());
  TaskSpec interrupting = in_session();
  interrupting.busy = BusyRule::kInterrupt;
  const TaskId newest = enqueue(interrupting);
  EXPECT_EQ(state(waiting), TaskState::kCancelled);
  EXPECT_EQ(get(waiting).cancel_reason, "superseded");
  EXPECT_TRUE(get(running).cancel_requested_at.has_value());
  // Not before the other has stopped.
  EXPECT_TRUE(claim(5).empty());
  EXPECT_EQ(settle({.lease = lease, .end = CancelConfirmed{}}), TaskState::kCancelled);
  EXPECT_EQ(claim_one().task.id, newest);
}

// Its dependents and children are as new as it is: no store knows them yet.
TEST_P(Sessions, AnInterruptReachesWhatComesInTheSameBatch) {
  const TaskId waiting = enqueue(in_session());
  TaskSpec first = in_session();
  first.ref = "first";
  TaskSpec interrupting = in_session();
  interrupting.busy = BusyRule::kInterrupt;
  const std::vector<TaskSpec> batch{first,
                                    {.type = "work", .depends_on = {"first"}},
                                    {.type = "work", .depends_on = {waiting}},
                                    {.type = "work", .parent_id = waiting},
                                    interrupting};
  const auto answers = must(queue().enqueue(batch));
  ASSERT_EQ(answers.size(), batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const TaskState expected = i + 1 < batch.size() ? TaskState::kCancelled : TaskState::kPending;
    EXPECT_EQ(state(answers[i].id), expected) << i;
    EXPECT_EQ(answers[i].state, expected) << i;
  }
  EXPECT_EQ(state(waiting), TaskState::kCancelled);
}

TEST_P(Sessions, ATaskCannotInterruptTheOneThatSpawnsIt) {
  const Lease lease = start(enqueue(in_session()));
  TaskSpec child = in_session();
  child.busy = BusyRule::kInterrupt;
  EXPECT_EQ(code_of(queue().spawn(lease, std::span(&child, 1))), ErrorCode::kInvalidArgument);
}

TEST_P(Sessions, BadWordsAreRefused) {
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .busy = BusyRule::kReject})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .bootstrap = R"({"key":"a","text":"b"})"})),
            ErrorCode::kInvalidArgument);
  for (const char* bad : {R"({"key":"a"})", R"({"key":"a b","text":"x"})", R"({"key":"a","text":""})", "[]",
                          R"({"key":"a","text":"x","more":1})"}) {
    TaskSpec spec = in_session();
    spec.bootstrap = bad;
    EXPECT_EQ(code_of(queue().enqueue_one(spec)), ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(code_of(queue().session({.owner = "default", .name = "a:b"})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().session(kReviewer)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().reset_session(kReviewer, {})), ErrorCode::kNotFound);
}

TEST_P(Sessions, AResetLetsTheNextTaskBeginAfresh) {
  enqueue(with_bootstrap("api"));
  complete_as(claim_one().lease, said_by("s1"));
  pass(1s);
  EXPECT_EQ(must(queue().reset_session(kReviewer, {.by = "ada", .why = "confused"})).state, SessionState::kCold);
  pass(1s);
  enqueue(with_bootstrap("api"));
  const ClaimedTask next = claim_one();
  EXPECT_EQ(start_of(next).agent, std::nullopt);
  EXPECT_TRUE(start_of(next).bootstrap_due);
  const std::vector<Event> events = all_events();
  const auto told = std::ranges::find(events, "session.reset", &Event::name);
  ASSERT_NE(told, events.end());
  EXPECT_TRUE(told->data.contains("confused"));
}

TEST_P(Sessions, WhatRunsDuringAResetLeavesNothing) {
  enqueue(with_bootstrap("api"));
  const ClaimedTask running = claim_one();
  pass(1s);
  EXPECT_EQ(must(queue().reset_session(kReviewer, {})).state, SessionState::kBusy);
  pass(1s);
  complete_as(running.lease, said_by("s1"));
  EXPECT_EQ(session().state, SessionState::kCold);
  EXPECT_TRUE(session().tasks.empty());
}

TEST_P(Sessions, AWorkerThatDiesLeavesTheSessionToTheRerun) {
  enqueue(in_session());
  complete_as(claim_one().lease, said_by("s1"));
  const TaskId second = enqueue(in_session());
  enqueue(in_session());
  lose(start(second));
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, second);
  EXPECT_EQ(start_of(again).agent.value_or(AgentState{}).session_id, "s1");
  EXPECT_TRUE(claim(5).empty());
}

TEST_P(Sessions, ARetriedTaskComesBack) {
  const TaskId id = enqueue({.type = "work", .session = "reviewer", .max_attempts = 1});
  fail(start(id));
  EXPECT_TRUE(session().tasks.empty());
  retry(id);
  EXPECT_EQ(session().tasks, std::vector<TaskId>{id});
  TaskSpec rejecting = in_session();
  rejecting.busy = BusyRule::kReject;
  EXPECT_EQ(code_of(queue().enqueue_one(rejecting)), ErrorCode::kSessionBusy);
}

TEST_P(Sessions, ExplainNamesWhoHoldsIt) {
  const TaskId first = enqueue(in_session());
  const TaskId second = enqueue(in_session());
  const Lease lease = start(first);
  EXPECT_TRUE(claim(5).empty());
  const Explanation why = explain(second);
  EXPECT_EQ(why.reason, Explanation::Reason::kGate);
  EXPECT_EQ(why.gate, "session:default::reviewer");
  EXPECT_TRUE(why.text.contains(first.to_string())) << why.text;
  complete(lease);
}

TEST_P(Sessions, AreInNoOtherList) {
  enqueue(in_session());
  enqueue(in_session());
  const ClaimedTask running = claim_one();
  EXPECT_TRUE(claim(5).empty());
  EXPECT_TRUE(must(queue().gates()).empty());
  for (const QueueStatus& one : must(queue().queues())) EXPECT_TRUE(one.held.empty());
  complete_as(running.lease, said_by("s1"));
  EXPECT_TRUE(must(queue().gates()).empty());
}

TEST_P(Sessions, ComeInPages) {
  for (const char* name : {"d", "a", "c", "b"}) enqueue(in_session(name));
  std::string names;
  SessionQuery query{.limit = 3};
  do {
    const SessionPage page = must(queue().sessions(query));
    for (const SessionInfo& one : page.sessions) names += one.name.name;
    names += ".";
    query.cursor = page.cursor;
  } while (query.cursor);
  EXPECT_EQ(names, "abc.d.");
  EXPECT_EQ(must(queue().sessions({.owner = "bob"})).sessions.size(), 0U);
}

TEST_P(Sessions, AnOperatorCanCloseOneAndNeverWidenIt) {
  enqueue(in_session());
  enqueue(in_session());
  close_gate("session:default::reviewer");
  EXPECT_TRUE(claim(5).empty());
  open_gate("session:default::reviewer");
  limit_gate("session:default::reviewer", 5);
  EXPECT_EQ(claim(5).size(), 1U);
}

TEST_P(Sessions, ThePolicyCannotWidenOne) {
  EXPECT_EQ(code_of(queue().apply_config(R"({"gates":{"session:default::reviewer":{"permits":2}}})", 0)),
            ErrorCode::kInvalidConfig);
}

TEST_P(Sessions, HoldABoundedNumberOfTasks) {
  enqueue_all(std::vector<TaskSpec>(1'000, in_session()));
  EXPECT_EQ(code_of(queue().enqueue_one(in_session())), ErrorCode::kLimitExceeded);
}

TEST_P(Sessions, FsckFindsTasksThatTheirSessionDoesNotKnow) {
  const TaskId id = enqueue(in_session());
  const std::string name = "session:default::reviewer";
  const GateRecord gate = must(store().read_gates(std::span(&name, 1))).at(0).record;
  StepGroup group;
  group.gates.push_back({.name = name, .expected_revision = gate.revision, .next = gate});
  group.gates.front().next->session = "{}";
  ASSERT_EQ(must(store().apply(std::span(&group, 1))).at(0), Applied::kDone);
  const auto found = must(queue().fsck(FsckMode::kCheck));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "session_wrong");
  EXPECT_TRUE(must(queue().fsck(FsckMode::kRepair)).at(0).repaired);
  EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty());
  EXPECT_EQ(session().tasks, std::vector<TaskId>{id});
}

TEST_P(Sessions, TellARunHowItStandsWithItsProvider) {
  apply_config(R"({"types":{"work":{"provider":"acme"}}})");
  enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  const auto running = claim(2);
  ASSERT_EQ(running.size(), 2U);
  const auto state_of = [&] { return must(queue().standing_of(running[1].lease)).provider.value_or(ProviderState{}); };
  EXPECT_EQ(state_of(), (ProviderState{.name = "acme"}));
  must(queue().report(running[0].lease,
                      {.provider = ProviderSignal{.throttle = ProviderThrottle{ErrorClass::kRateLimited, 20s}}}));
  EXPECT_EQ(state_of().state, ProviderState::State::kClosed);
  EXPECT_EQ(state_of().resumes_at, now() + 20s);
  pass(20s);
  EXPECT_EQ(state_of().state, ProviderState::State::kRamping);
  EXPECT_EQ(state_of().permits, 1);
  complete(running[1].lease);
  EXPECT_EQ(code_of(queue().standing_of(running[1].lease)), ErrorCode::kStaleLease);
}

}  // namespace
}  // namespace drover::test
