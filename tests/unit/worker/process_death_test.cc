// Nothing of a run outlives it: cancel, dead worker, frozen worker, dead shim, agents that hide.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/printers.h"
#include "unit/worker/process_support.h"

namespace drover::test {
namespace {

std::string json_member(const std::string& key, const PidPipe& pipe) {
  return "\"" + key + "\":\"" + pipe.path() + "\"";
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

// An agent's parent is its shim.
pid_t parent_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  }
  throw std::runtime_error("no such process");
}

class ProcessDeathTest : public testing::Test {
 protected:
  RunsFixture fixture;
  PidPipe agents{fixture.dir.file("agent")};
  PidPipe grandchildren{fixture.dir.file("grandchild")};

  // An agent that hangs with a grandchild that nobody's signal but KILL reaches.
  Lease start_family(const std::string& more = "") {
    return fixture.start_agent("{" + json_member("pid_file", agents) + "," + json_member("grandchild", grandchildren) +
                               more + R"(,"hang":true})");
  }
};

TEST_F(ProcessDeathTest, ACancelKillsTheWholeTreeWithinTheGrace) {
  const Lease lease = start_family(R"(,"ignore_term":true)");
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  EXPECT_NE(::getsid(grandchild.pid()), ::getsid(agent.pid())) << "it has left the agent's session";

  const MonoTime asked_at = system_clock().mono();
  fixture.runs().stop(lease, StopReason::kCancelled);
  std::ignore = get_end<CancelConfirmed>(fixture.wait_ended());
  EXPECT_LT(system_clock().mono() - asked_at, RunsFixture::default_options().grace + Millis{1'000});
  EXPECT_TRUE(agent.ends_within(Millis{0})) << "dead before the end is told";
  EXPECT_TRUE(grandchild.ends_within(Millis{0}));
}

TEST_F(ProcessDeathTest, AnAgentThatHeedsTermIsNotKilled) {
  const Lease lease = fixture.start_agent("{" + json_member("pid_file", agents) + R"(,"hang":true})");
  ASSERT_GT(agents.wait(), 0);
  const MonoTime asked_at = system_clock().mono();
  fixture.runs().stop(lease, StopReason::kCancelled);
  std::ignore = get_end<CancelConfirmed>(fixture.wait_ended());
  EXPECT_LT(system_clock().mono() - asked_at, RunsFixture::default_options().grace);
}

TEST_F(ProcessDeathTest, WhatAnAgentLeavesBehindDiesWithIt) {
  fixture.start_agent("{" + json_member("grandchild", grandchildren) + R"(,"sleep_ms":50,"print":"1"})");
  const Watched grandchild(grandchildren.wait());
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "1");
  EXPECT_TRUE(grandchild.ends_within(Millis{0}));
}

TEST_F(ProcessDeathTest, AHeldPipeDelaysTheEndByTwoSecondsAtMost) {
  const MonoTime started_at = system_clock().mono();
  fixture.start_agent(R"({"hold_pipe_ms":600000,"print":"1"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "1");
  EXPECT_LT(system_clock().mono() - started_at, Millis{4'000});
}

TEST_F(ProcessDeathTest, AProcessThatKeepsForkingAwayIsCaught) {
  PidPipe hoppers(fixture.dir.file("hopper"));
  const Lease lease = fixture.start_agent("{" + json_member("hopper", hoppers) + R"(,"hang":true})");
  ASSERT_GT(hoppers.wait(), 0);
  const MonoTime asked_at = system_clock().mono();
  fixture.runs().stop(lease, StopReason::kCancelled);
  std::ignore = get_end<CancelConfirmed>(fixture.wait_ended());
  EXPECT_LT(system_clock().mono() - asked_at, RunsFixture::default_options().grace + Millis{1'000});
}

TEST_F(ProcessDeathTest, ADeadShimIsNoticedAndItsTreeSwept) {
  start_family();
  const Lease bystander = fixture.start_agent(R"({"sleep_ms":1500,"print":"2"})");
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  ::kill(parent_of(agent.pid()), SIGKILL);
  const RunEnded ended = fixture.wait_ended();
  EXPECT_EQ(get_end<Failure>(ended).error_class, ErrorClass::kKilled);
  EXPECT_TRUE(agent.ends_within(Millis{0}));
  EXPECT_TRUE(grandchild.ends_within(Millis{0}));

  const RunEnded other = fixture.wait_ended();
  EXPECT_EQ(other.lease, bystander);
  EXPECT_EQ(get_end<Completion>(other).result, "2") << "another run is none of the sweep's business";
}

TEST_F(ProcessDeathTest, AFrozenShimIsKilledAfterItsGrace) {
  const Lease lease = start_family();
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  ::kill(parent_of(agent.pid()), SIGSTOP);
  const MonoTime asked_at = system_clock().mono();
  fixture.runs().stop(lease, StopReason::kCancelled);
  std::ignore = get_end<CancelConfirmed>(fixture.wait_ended());
  EXPECT_LT(system_clock().mono() - asked_at, RunsFixture::default_options().grace + Millis{1'000});
  EXPECT_TRUE(agent.ends_within(Millis{0}));
  EXPECT_TRUE(grandchild.ends_within(Millis{0}));
}

TEST_F(ProcessDeathTest, WithoutRenewalsTheShimEndsTheRunBeforeTheLeaseDoes) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.lease = Millis{3'000};
  RunsFixture short_leases(std::move(options));
  ClaimedTask claimed = numbered_task(1);
  claimed.task.payload = "{" + json_member("pid_file", agents) + "," + json_member("grandchild", grandchildren) +
                         R"(,"ignore_term":true,"hang":true})";
  const MonoTime expires_at = system_clock().mono() + Millis{3'000};
  short_leases.start(std::move(claimed), Millis{3'000});
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  EXPECT_TRUE(agent.ends_within(expires_at - system_clock().mono()));
  EXPECT_TRUE(grandchild.ends_within(expires_at - system_clock().mono()));
  std::ignore = get_end<Release>(short_leases.wait_ended());
}

TEST_F(ProcessDeathTest, RenewalsKeepARunAlive) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.lease = Millis{3'000};
  RunsFixture short_leases(std::move(options));
  ClaimedTask claimed = numbered_task(1);
  claimed.task.payload = R"({"sleep_ms":4000,"print":"1"})";
  const Lease lease = short_leases.start(std::move(claimed), Millis{3'000});
  short_leases.runs().lease_renewed(lease, system_clock().mono() + Millis{60'000});
  EXPECT_EQ(get_end<Completion>(short_leases.wait_ended()).result, "1");
}

// ---- a worker in another process

class DeadWorkerTest : public ProcessDeathTest {
 protected:
  std::vector<std::string> victim_argv(Millis lease) const {
    return {this_program(), "victim",           fixture.dir.file("victim"),  std::to_string(lease.count()),
            AGENTSIM_BIN,   "ignore_term=true", "pid_file=" + agents.path(), "grandchild=" + grandchildren.path(),
            "hang=true"};
  }
};

TEST_F(DeadWorkerTest, KilledWorkersLeaveNothingBehind) {
  const Child worker(victim_argv(Millis{60'000}));
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  worker.send(SIGKILL);
  EXPECT_TRUE(agent.ends_within(Millis{1'000}));
  EXPECT_TRUE(grandchild.ends_within(Millis{1'000}));
}

TEST_F(DeadWorkerTest, AStoppedShimNoticesTheDeathOfItsWorker) {
  const Child worker(victim_argv(Millis{60'000}));
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  ::kill(parent_of(agent.pid()), SIGSTOP);
  worker.send(SIGKILL);
  EXPECT_TRUE(agent.ends_within(Millis{1'000}));
  EXPECT_TRUE(grandchild.ends_within(Millis{1'000}));
}

TEST_F(DeadWorkerTest, WorkerAndShimKilledTogetherLeaveNothingBehind) {
  const Child worker(victim_argv(Millis{60'000}));
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  const pid_t shim = parent_of(agent.pid());
  ::kill(shim, SIGSTOP);  // so that it cannot use the moment in between
  worker.send(SIGSTOP);
  ::kill(shim, SIGKILL);
  worker.send(SIGKILL);
  EXPECT_TRUE(agent.ends_within(Millis{1'000}));
  EXPECT_TRUE(grandchild.ends_within(Millis{1'000}));
}

TEST_F(DeadWorkerTest, AFrozenWorkersAgentIsDeadBeforeTheLeaseIs) {
  constexpr Millis kLease{4'000};
  const Child worker(victim_argv(kLease));
  const Watched agent(agents.wait());
  const Watched grandchild(grandchildren.wait());
  const MonoTime frozen_at = system_clock().mono();
  worker.send(SIGSTOP);
  // The latest renewal was sent before this moment, so that the lease ends at the latest one lease after it.
  EXPECT_TRUE(agent.ends_within(kLease - (system_clock().mono() - frozen_at)));
  EXPECT_TRUE(grandchild.ends_within(kLease - (system_clock().mono() - frozen_at)));
}

TEST_F(DeadWorkerTest, RenewedLeasesOutliveTheirFirstTerm) {
  constexpr Millis kLease{2'400};
  const Child worker(victim_argv(kLease));
  const Watched agent(agents.wait());
  EXPECT_FALSE(agent.ends_within(kLease * 2)) << "the heartbeat keeps it";
}

}  // namespace
}  // namespace drover::test
