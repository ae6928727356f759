// The registry of workers: who is there, who went silent.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Workers : public ConformanceTest {
 protected:
  static WorkerInfo worker(const std::string& id) {
    return {.id = id, .version = "1.2.3", .serves = {{.queue = "work"}, {.queue = "a", .type = "b"}}, .capacity = 4};
  }
  std::vector<std::string> names() {
    std::vector<std::string> ids;
    for (const WorkerInfo& info : must(queue().workers())) ids.push_back(info.id);
    return ids;
  }
  // What the log tells of workers.
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (const Event& event : must(queue().events(0, 1'000))) {
      if (event.name.starts_with("worker.")) lines.push_back(event.name + " " + event.data);
    }
    return lines;
  }
  Lease start_as(const std::string& worker_id, Millis lease) {
    return claim({.worker_id = worker_id, .serves = {{.queue = "work"}}, .n = 1, .lease = lease}).at(0).lease;
  }
};
ON_EVERY_STORE(Workers);

TEST_P(Workers, RegistrationIsTheFirstBeat) {
  must(queue().register_worker(worker("host:1:a")));
  const auto workers = must(queue().workers());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].id, "host:1:a");
  EXPECT_EQ(workers[0].version, "1.2.3");
  EXPECT_EQ(workers[0].serves, worker("").serves);
  EXPECT_EQ(workers[0].capacity, 4);
  EXPECT_EQ(workers[0].registered_at, now());
  EXPECT_EQ(workers[0].last_beat_at, now());
  EXPECT_FALSE(workers[0].draining);
}

TEST_P(Workers, ABeatIsSeen) {
  must(queue().register_worker(worker("host:1:a")));
  const Time registered = now();
  advance(5s);
  must(queue().renew("host:1:a", {}, kLease));
  const WorkerInfo info = must(queue().workers()).at(0);
  EXPECT_EQ(info.registered_at, registered);
  EXPECT_EQ(info.last_beat_at, now());
}

TEST_P(Workers, RegisteringAgainReplacesWhatWasSaid) {
  must(queue().register_worker(worker("host:1:a")));
  WorkerInfo draining = worker("host:1:a");
  draining.draining = true;
  draining.capacity = 1;
  must(queue().register_worker(draining));
  const auto workers = must(queue().workers());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_TRUE(workers[0].draining);
  EXPECT_EQ(workers[0].capacity, 1);
}

TEST_P(Workers, WorkspacesOfAHostCountOnce) {
  for (const auto& [id, bytes] : {std::pair("one:1:a", 700), {"one:2:b", 900}, {"two:1:c", 50}}) {
    WorkerInfo info = worker(id);
    info.workspace_bytes = bytes;
    must(queue().register_worker(info));
  }
  EXPECT_EQ(must(queue().worker("one:1:a")).value().workspace_bytes, 700);
  EXPECT_EQ(must(queue().stats()).workers.workspace_bytes, 950);
  must(queue().register_worker(worker("one:2:b")));  // it has removed them
  EXPECT_EQ(must(queue().stats()).workers.workspace_bytes, 750);
}

TEST_P(Workers, WhatAWorkerCannotRunIsKeptWithWhatItServes) {
  WorkerInfo troubled = worker("host:1:a");
  troubled.serves = {{"work", "build", "cannot run ./build: No such file or directory"}, {"work", "test"}};
  must(queue().register_worker(troubled));
  EXPECT_EQ(must(queue().workers()).at(0).serves, troubled.serves);
  const TaskId id = enqueue({.type = "build", .queue = "work"});
  const Explanation why = must(queue().explain(id));
  EXPECT_EQ(why.reason, Explanation::Reason::kNoWorker);
  EXPECT_NE(why.text.find("cannot run ./build: No such file or directory"), std::string::npos) << why.text;
  troubled.serves[0].trouble.clear();
  must(queue().register_worker(troubled));
  EXPECT_EQ(must(queue().explain(id)).reason, Explanation::Reason::kInLine);
}

TEST_P(Workers, AWorkerSignsOffWithAReason) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().register_worker(worker("host:2:b")));
  must(queue().unregister_worker("host:1:a", "\"shut\" down"));
  EXPECT_EQ(names(), std::vector<std::string>{"host:2:b"});
  EXPECT_EQ(news(), std::vector<std::string>{R"(worker.gone {"worker_id":"host:1:a","reason":"\"shut\" down"})"});
}

TEST_P(Workers, OneThatIsToldToDrainHearsItWithItsNextBeat) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().register_worker(worker("host:2:b")));
  EXPECT_FALSE(must(queue().renew("host:1:a", {}, kLease)).drain);
  must(queue().drain_worker({.worker_id = "host:1:a", .why = "upgrade", .by = "ada@box"}));
  EXPECT_TRUE(must(queue().renew("host:1:a", {}, kLease)).drain);
  EXPECT_TRUE(must(queue().renew("host:1:a", {}, kLease)).drain);
  EXPECT_FALSE(must(queue().renew("host:2:b", {}, kLease)).drain);
  const WorkerInfo info = must(queue().workers()).at(0);
  EXPECT_TRUE(info.draining);
  EXPECT_EQ(info.drain_by, signed_as("ada@box"));
  EXPECT_EQ(info.drain_reason, "upgrade");
  EXPECT_EQ(news(),
            std::vector<std::string>{fmt::format(
                R"(worker.draining {{"worker_id":"host:1:a","why":"upgrade","by":"{}"}})", signed_as("ada@box"))});
}

TEST_P(Workers, TheAnswerToABeatHasLeasesAndTheOrder) {
  must(queue().register_worker(worker("host:1:a")));
  enqueue_work();
  const Lease lease = start_as("host:1:a", 30s);
  must(queue().drain_worker({.worker_id = "host:1:a"}));
  EXPECT_EQ(must(queue().renew("host:1:a", std::span(&lease, 1), kLease)),
            (Beat{.leases = {LeaseState::kHeld}, .drain = true}));
}

TEST_P(Workers, RegisteringAgainDoesNotTakeBackTheOrderToDrain) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().drain_worker({.worker_id = "host:1:a", .why = "upgrade", .by = "ada@box"}));
  must(queue().register_worker(worker("host:1:a")));
  EXPECT_TRUE(must(queue().renew("host:1:a", {}, kLease)).drain);
  EXPECT_EQ(must(queue().workers()).at(0).drain_reason, "upgrade");
}

TEST_P(Workers, NobodyToDrain) {
  EXPECT_EQ(code_of(queue().drain_worker({.worker_id = "host:1:a"})), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().drain_worker({.worker_id = ""})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().drain_worker({.worker_id = "w", .why = "\xff"})), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(news().empty());
}

TEST_P(Workers, WhatTheyRunIsCounted) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().register_worker(worker("host:2:b")));
  for (int i = 0; i < 3; ++i) enqueue_work();
  start_as("host:1:a", 30s);
  const Lease second = start_as("host:1:a", 30s);
  start_as("host:2:b", 30s);
  EXPECT_EQ(must(queue().workers()).at(0).running, 2);
  EXPECT_EQ(must(queue().workers()).at(1).running, 1);
  must(queue().complete(second, {}));
  EXPECT_EQ(must(queue().workers()).at(0).running, 1);
}

TEST_P(Workers, SigningOffTwiceIsNoError) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().unregister_worker("host:1:a", "shutdown"));
  EXPECT_EQ(code_of(queue().unregister_worker("host:1:a", "shutdown")), std::nullopt);
}

TEST_P(Workers, TheSilentAreForgottenAfterAWhile) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().register_worker(worker("host:2:b")));
  advance(1h);
  must(queue().renew("host:2:b", {}, kLease));
  sweep();
  EXPECT_EQ(names(), std::vector<std::string>{"host:2:b"});
  EXPECT_EQ(news(), std::vector<std::string>{R"(worker.gone {"worker_id":"host:1:a","reason":"silent"})"});
}

TEST_P(Workers, NotBeforeTheirLastTaskIsTakenBack) {
  must(queue().register_worker(worker("host:1:a")));
  enqueue_work();
  const Lease lease = start_as("host:1:a", 2h);
  pass(1h);
  EXPECT_EQ(names(), std::vector<std::string>{"host:1:a"});
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  pass(1h);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
  pass(1h);
  EXPECT_TRUE(names().empty());
}

TEST_P(Workers, RegistrationsOutliveARestart) {
  must(queue().register_worker(worker("host:1:a")));
  reopen();
  EXPECT_EQ(names(), std::vector<std::string>{"host:1:a"});
}

TEST_P(Workers, ABadRegistrationIsRefused) {
  EXPECT_EQ(code_of(queue().register_worker(worker(""))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().register_worker(worker("with blank"))), ErrorCode::kInvalidArgument);
  WorkerInfo none = worker("host:1:a");
  none.capacity = 0;
  EXPECT_EQ(code_of(queue().register_worker(none)), ErrorCode::kInvalidArgument);
  WorkerInfo absurd = worker("host:1:a");
  absurd.workspace_bytes = -1;
  EXPECT_EQ(code_of(queue().register_worker(absurd)), ErrorCode::kInvalidArgument);
  for (const Serve& serve : {Serve{.queue = "no queue", .type = {}}, Serve{.queue = "work", .type = ""}}) {
    WorkerInfo elsewhere = worker("host:1:a");
    elsewhere.serves = {serve};
    EXPECT_EQ(code_of(queue().register_worker(elsewhere)), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code_of(queue().backlog(elsewhere.serves)), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(code_of(queue().unregister_worker("", "shutdown")), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(names().empty());
}

TEST_P(Workers, TheBacklogOfTheirQueues) {
  for (const TaskState state : kAllStates) place_in(state);
  enqueue({.type = "other"});
  const Backlog backlog = must(queue().backlog(std::vector<Serve>{{.queue = "work"}}));
  EXPECT_EQ(backlog.waiting, 3);
  EXPECT_EQ(backlog.running, 1);
  EXPECT_EQ(backlog.blocked, 1);
}

TEST_P(Workers, TheBacklogOfOneType) {
  enqueue({.type = "mine", .queue = "q"});
  enqueue({.type = "other", .queue = "q"});
  EXPECT_EQ(must(queue().backlog(std::vector<Serve>{{.queue = "q", .type = "mine"}})).waiting, 1);
  EXPECT_EQ(must(queue().backlog(std::vector<Serve>{{.queue = "q"}})).waiting, 2);
  EXPECT_EQ(must(queue().backlog(std::vector<Serve>{{.queue = "nobody"}})).waiting, 0);
}

TEST_P(Workers, OneIsFoundByItsId) {
  must(queue().register_worker(worker("host:1:a")));
  must(queue().register_worker(worker("host:2:b")));
  const auto found = must(queue().worker("host:2:b"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id, "host:2:b");
  EXPECT_EQ(found->serves, worker("").serves);
  EXPECT_EQ(found->registered_at, now());
  EXPECT_FALSE(must(queue().worker("host:3:c")).has_value());
}

TEST_P(Workers, TheTokenOfTheFirstRegistrationStays) {
  WorkerInfo info = worker("host:1:a");
  info.token_id = "first";
  must(store().register_worker(info));
  info.token_id = "second";
  must(store().register_worker(info));
  EXPECT_EQ(must(queue().workers()).at(0).token_id, "first");
  EXPECT_EQ(must(queue().worker("host:1:a")).value_or(WorkerInfo{}).token_id, "first");
  must(queue().unregister_worker("host:1:a", "shutdown"));
  must(store().register_worker(info));
  EXPECT_EQ(must(queue().worker("host:1:a")).value_or(WorkerInfo{}).token_id, "second");
}

}  // namespace
}  // namespace drover::test
