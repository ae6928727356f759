// Runs as real processes: input, output, environment, exit, timeouts.
#include "worker/process_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "base/json.h"
#include "support/printers.h"
#include "unit/worker/process_support.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ProcessRunsOptions options_with(RunnerProfile profile) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.runners.for_all = std::move(profile);
  return options;
}

ClaimedTask task_with_payload(const std::string& payload) {
  ClaimedTask claimed = numbered_task(1);
  claimed.task.payload = payload;
  return claimed;
}

// Sanitizers keep shadows of memory, so that its cost says nothing.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DROVER_TEST_SANITIZED
#endif
#endif
#if defined(DROVER_TEST_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A number in kB from /proc/self/status.
long memory_kb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size() + 1);
  }
  return -1;
}

void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

TEST(ProcessRuns, ThePayloadIsTheInputAndTheLastLineOfJsonTheResult) {
  RunsFixture fixture(options_with({{AGENTSIM_BIN, "echo_stdin=true"}, {}}));
  const std::string payload = R"({"z":1e400,"a":0.10,"big":123456789012345678901234567890,"text":"h\u00e9"})";
  const Lease lease = fixture.start(task_with_payload(payload));
  const RunEnded ended = fixture.wait_ended();
  EXPECT_EQ(ended.lease, lease);
  EXPECT_EQ(get_end<Completion>(ended).result, payload);
  EXPECT_EQ(get_end<Completion>(ended).exit_code, 0);
}

// The session's id comes once. If it got lost with a report that failed, a killed worker's run could not be resumed.
TEST(ProcessRuns, AReportThatWasNotStoredIsMadeAgain) {
  ProcessRunsOptions options = RunsFixture::default_options();
  TempDir dir;
  const std::string program = dir.file("claude");
  std::ofstream(program) << "#!/bin/sh\necho '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}'\n"
                            "exec sleep 1000\n";
  fs::permissions(program, fs::perms::owner_all);
  options.runners.for_all = RunnerProfile{.argv = {program}, .preset = agents::find_preset("claude")};
  RunsFixture fixture(options);
  fixture.queue.outage = Error{ErrorCode::kStoreUnavailable, "the store is away", {}};
  ClaimedTask claimed = numbered_task(1);
  claimed.task.prompt = "do it";
  const Lease lease = fixture.start(std::move(claimed));
  const auto was_asked = [&] { return std::ranges::count(fixture.queue.calls, "report") > 0; };
  ASSERT_TRUE(fixture.queue.wait_until(kLong, [&] { return was_asked() && fixture.queue.reports.empty(); }));
  {
    const std::scoped_lock lock(fixture.queue.mutex);
    fixture.queue.outage.reset();
  }
  EXPECT_TRUE(fixture.queue.wait_until(kLong, [&] { return !fixture.queue.reports.empty(); }));
  fixture.runs().stop(lease, StopReason::kCancelled);
  const RunEnded ended = fixture.wait_ended();
  const std::scoped_lock lock(fixture.queue.mutex);
  ASSERT_FALSE(fixture.queue.reports.empty());
  EXPECT_EQ(fixture.queue.reports.front().agent.value_or(AgentState{}).session_id, "s1");
}

TEST(ProcessRuns, APayloadBeyondThePipesCapacityArrivesWhole) {
  RunsFixture fixture(options_with({{AGENTSIM_BIN, "echo_stdin=true"}, {}}));
  const std::string payload = "\"" + std::string(1'000'000, 'x') + "\"";
  fixture.start(task_with_payload(payload));
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, payload);
}

TEST(ProcessRuns, AnAgentThatDoesNotReadItsInputIsNoTrouble) {
  RunsFixture fixture(options_with({{AGENTSIM_BIN, "read_stdin=false", "print=done"}, {}}));
  fixture.start(task_with_payload("\"" + std::string(1'000'000, 'x') + "\""));
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "\"done\\n\"");
}

TEST(ProcessRuns, WithoutAPayloadThePromptIsTheInput) {
  RunsFixture fixture(options_with({{AGENTSIM_BIN, "echo_stdin=true"}, {}}));
  ClaimedTask claimed = numbered_task(1);
  claimed.task.prompt = "Say hello\nin two lines";
  fixture.start(std::move(claimed));
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "\"Say hello\\nin two lines\"");
}

TEST(ProcessRuns, TheEnvironmentIsAnAllowList) {
  ::setenv("DROVER_TEST_SECRET", "hidden", 1);
  ::setenv("DROVER_TEST_KEY", "given", 1);
  ::setenv("DROVER_RUN", "77", 1);
  RunsFixture fixture(options_with({{AGENTSIM_BIN, "print_env=true"}, {"DROVER_TEST_KEY"}}));
  ClaimedTask claimed = numbered_task(1);
  claimed.task.run = 5;
  claimed.task.attempts = 2;
  const std::string id = claimed.task.id.to_string();
  fixture.start(std::move(claimed));
  const RunEnded ended = fixture.wait_ended();
  ::unsetenv("DROVER_RUN");
  const std::string environment = get_end<Completion>(ended).result.value_or("");
  for (const std::string& line :
       {std::string("DROVER_TASK_ID=") + id, std::string("DROVER_RUN=5"), std::string("DROVER_ATTEMPT=2"),
        std::string("DROVER_URL=unix:/"), std::string("TRACEPARENT=00-"), std::string("PATH="),
        std::string("DROVER_TEST_KEY=given")}) {
    EXPECT_NE(environment.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(environment.find("SECRET"), std::string::npos);
  EXPECT_EQ(environment.find("DROVER_RUN=77"), std::string::npos);
}

TEST(ProcessRuns, AMissingProgramIsNoFaultOfTheTask) {
  RunsFixture fixture(options_with({{"/nowhere/agent"}, {}}));
  fixture.start(numbered_task(1));
  EXPECT_EQ(get_end<Release>(fixture.wait_ended()).begun, Begun::kNo);
  const std::vector<Unable> unable = fixture.runs().unable();
  ASSERT_EQ(unable.size(), 1U);
  EXPECT_EQ(unable[0].kind, Unable::Kind::kProgram);
  EXPECT_EQ(unable[0].type, std::nullopt) << "it is the program for all types";
  EXPECT_EQ(unable[0].why, "cannot run /nowhere/agent: No such file or directory");
  EXPECT_TRUE(fs::is_empty(fixture.dir.path() / "state/runs")) << "nothing was printed, nothing is kept";
}

TEST(ProcessRuns, ATypeWithoutARunnerIsNotRunAndOthersAre) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.runners = {.for_all = {}, .by_type = {{"other", RunnerProfile{{AGENTSIM_BIN}, {}}}}};
  RunsFixture fixture(std::move(options));
  fixture.start(numbered_task(1));
  EXPECT_EQ(get_end<Release>(fixture.wait_ended()).begun, Begun::kNo);
  ASSERT_EQ(fixture.runs().unable().size(), 1U);
  EXPECT_EQ(fixture.runs().unable()[0].type, "test");
  ClaimedTask other = numbered_task(2);
  other.task.type = "other";
  other.task.payload = R"({"print":"1"})";
  fixture.start(std::move(other));
  std::ignore = get_end<Completion>(fixture.wait_ended());
}

TEST(ProcessRuns, ASlowRequestAtOneDoorHoldsUpNoOther) {
  RunsFixture fixture;
  std::promise<void> may_go_on;
  fixture.queue.slow_progress = may_go_on.get_future().share();
  constexpr int kSlow = 6;  // more than a handful of threads that all runs share could take
  for (int i = 0; i < kSlow; ++i) fixture.start_agent(R"({"progress":10,"print":"1"})");
  ASSERT_TRUE(fixture.queue.wait_until(kLong, [&] { return fixture.queue.progresses.size() == kSlow; }));
  const Lease quick = fixture.start_agent(R"({"print":"2"})");
  const RunEnded first = fixture.wait_ended();
  EXPECT_EQ(first.lease, quick) << "its log is stored and its end told while the others wait";
  may_go_on.set_value();
  for (int i = 0; i < kSlow; ++i) std::ignore = get_end<Completion>(fixture.wait_ended());
}

TEST(ProcessRuns, ExitsAndSignalsKeepTheirMeaning) {
  RunsFixture fixture;
  fixture.start_agent(R"({"exit":3,"print_err":"it broke"})");
  EXPECT_EQ(get_end<Failure>(fixture.wait_ended()).message, "exit code 3: it broke");
  fixture.start_agent(R"({"exit":75})");
  EXPECT_EQ(get_end<Failure>(fixture.wait_ended()).error_class, ErrorClass::kRateLimited);
  fixture.start_agent(R"({"signal":10})");
  const RunEnded killed = fixture.wait_ended();
  EXPECT_EQ(get_end<Failure>(killed).error_class, ErrorClass::kKilled);
  EXPECT_EQ(get_end<Failure>(killed).message, "killed by SIGUSR1");
}

TEST(ProcessRuns, OutputGoesToTheLogAndAllOfItToAPrivateFile) {
  RunsFixture fixture;
  const Lease lease = fixture.start_agent(R"({"print":"to out","print_err":"to err"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "\"to out\\n\"");
  EXPECT_EQ(fixture.queue.log_text(LogStream::kOut), "to out\n");
  EXPECT_EQ(fixture.queue.log_text(LogStream::kErr), "to err\n");
  const std::string path = fixture.output_path(lease);
  EXPECT_EQ(read_file(path).size(), std::string("to out\nto err\n").size());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(fs::path(path).parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(fs::path(path).parent_path() / "door")) << "the door goes with the run";
}

TEST(ProcessRuns, OutputIsLoggedWhileTheAgentRuns) {
  RunsFixture fixture;
  const Lease lease = fixture.start_agent(R"({"flood":10,"hang":true})");
  EXPECT_TRUE(fixture.queue.wait_until(kLong, [&] { return !fixture.queue.log_chunks.empty(); }));
  fixture.runs().stop(lease, StopReason::kCancelled);
  std::ignore = get_end<CancelConfirmed>(fixture.wait_ended());
}

TEST(ProcessRuns, ALogThatCannotBeStoredDoesNotHoldUpTheRun) {
  RunsFixture fixture;
  fixture.queue.outage = Error{ErrorCode::kStoreUnavailable, "gone", {}};
  const Lease lease = fixture.start_agent(R"({"print":"still here"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "\"still here\\n\"");
  EXPECT_EQ(read_file(fixture.output_path(lease)), "still here\n");
}

TEST(ProcessRuns, BytesThatAreNoTextBecomeReplacementCharacters) {
  RunsFixture fixture;
  const Lease lease = fixture.start_agent(R"({"garbage":300})");
  const RunEnded ended = fixture.wait_ended();
  const auto text = json::parse(get_end<Completion>(ended).result.value_or(""));
  ASSERT_TRUE(text && text->as_string() != nullptr) << "always a JSON string";
  EXPECT_NE(text->as_string()->find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_EQ(fs::file_size(fixture.output_path(lease)), 300U) << "the file has the bytes";
}

TEST(ProcessRuns, AHundredMegabytesCostLittleMemory) {
  RunsFixture fixture;
  constexpr long kBytes = 100'000'000;
  forget_peak_memory();
  const long before_kb = memory_kb("VmRSS:");
  const Lease lease = fixture.start_agent(R"({"flood":100000000})");
  const RunEnded ended = fixture.wait_ended(Millis{60'000});
  const long cost_kb = memory_kb("VmHWM:") - before_kb;
  EXPECT_EQ(get_end<Failure>(ended).error_class, ErrorClass::kResultTooLarge);
  EXPECT_EQ(fs::file_size(fixture.output_path(lease)), static_cast<std::uintmax_t>(kBytes));
  // The fake queue keeps what it is sent; a store would not.
  long logged = 0;
  for (const LogChunk& chunk : fixture.queue.log_chunks) logged += static_cast<long>(chunk.text.size());
  if (!kSanitized) {
    EXPECT_LT(cost_kb - 2 * logged / 1024, 16 * 1024) << "logged " << logged;
  }
  EXPECT_NE(fixture.queue.log_text(LogStream::kDrover).find("left out"), std::string::npos);
}

TEST(ProcessRuns, AJsonLineAtTheEndIsTheResultHoweverMuchCameBefore) {
  RunsFixture fixture;
  fixture.start_agent(R"({"flood":5000000,"print":"\n{\"ok\": true}"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, R"({"ok":true})");
}

TEST(ProcessRuns, TheFileIsCutAtItsLimitAndTheLogSaysSo) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.output_file_bytes_max = 1000;
  RunsFixture fixture(std::move(options));
  const Lease lease = fixture.start_agent(R"({"flood":5000})");
  std::ignore = get_end<Completion>(fixture.wait_ended());
  EXPECT_EQ(fs::file_size(fixture.output_path(lease)), 1000U);
  EXPECT_NE(fixture.queue.log_text(LogStream::kDrover).find("was cut at 1000 bytes"), std::string::npos);
}

TEST(ProcessRuns, WallTimeout) {
  RunsFixture fixture;
  ClaimedTask claimed = task_with_payload(R"({"hang":true})");
  claimed.task.timeout = Millis{300};
  fixture.start(std::move(claimed));
  const RunEnded ended = fixture.wait_ended();
  EXPECT_EQ(get_end<Failure>(ended).error_class, ErrorClass::kTimeout);
  EXPECT_EQ(get_end<Failure>(ended).message, "ran longer than 300ms");
}

TEST(ProcessRuns, IdleTimeout) {
  RunsFixture fixture;
  ClaimedTask claimed = task_with_payload(R"({"flood":10,"hang":true})");
  claimed.task.idle_timeout = Millis{300};
  fixture.start(std::move(claimed));
  const RunEnded ended = fixture.wait_ended();
  EXPECT_EQ(get_end<Failure>(ended).error_class, ErrorClass::kTimeout);
  EXPECT_EQ(get_end<Failure>(ended).message, "no output and no progress for 300ms");
}

TEST(ProcessRuns, OutputHoldsOffTheIdleTimeout) {
  // Prints every 100 ms for 1.5 s: longer than the idle timeout, never silent for it.
  RunsFixture fixture(options_with(
      {{"/bin/sh", "-c", "i=0; while [ $i -lt 15 ]; do echo $i; sleep 0.1; i=$((i+1)); done; echo '\"busy\"'"}, {}}));
  ClaimedTask claimed = numbered_task(1);
  claimed.task.idle_timeout = Millis{1'000};
  fixture.start(std::move(claimed));
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "\"busy\"");
}

TEST(ProcessRuns, ShutdownGivesTheTaskBack) {
  RunsFixture fixture;
  PidPipe pids(fixture.dir.file("pid"));
  const Lease lease = fixture.start_agent(R"({"hang":true,"pid_file":")" + pids.path() + "\"}");
  const Watched agent(pids.wait());
  fixture.runs().stop(lease, StopReason::kShutdown);
  std::ignore = get_end<Release>(fixture.wait_ended());
  EXPECT_TRUE(agent.ends_within(Millis{0}));
}

TEST(ProcessRuns, ShutdownOfAnAtMostOnceTaskLosesIt) {
  RunsFixture fixture;
  PidPipe pids(fixture.dir.file("pid"));
  ClaimedTask claimed = task_with_payload(R"({"hang":true,"pid_file":")" + pids.path() + "\"}");
  claimed.task.at_most_once = true;
  const Lease lease = fixture.start(std::move(claimed));
  ASSERT_GT(pids.wait(), 0);
  fixture.runs().stop(lease, StopReason::kShutdown);
  EXPECT_EQ(get_end<Failure>(fixture.wait_ended()).error_class, ErrorClass::kLost);
}

TEST(ProcessRuns, ASecondShutdownTakesTheGraceAway) {
  ProcessRunsOptions options = RunsFixture::default_options();
  options.grace = kLong * 10;
  RunsFixture fixture(std::move(options));
  PidPipe pids(fixture.dir.file("pid"));
  const Lease lease = fixture.start_agent(R"({"ignore_term":true,"hang":true,"pid_file":")" + pids.path() + "\"}");
  ASSERT_GT(pids.wait(), 0);
  fixture.runs().stop(lease, StopReason::kShutdown);
  fixture.runs().stop(lease, StopReason::kShutdown);
  std::ignore = get_end<Release>(fixture.wait_ended());
}

TEST(ProcessRuns, ManyAtOnceAllEnd) {
  RunsFixture fixture;
  constexpr int kRuns = 40;
  std::vector<Lease> leases;
  for (int i = 0; i < kRuns; ++i) leases.push_back(fixture.start_agent(R"({"sleep_ms":20,"print":"1"})"));
  std::vector<Lease> ended;
  for (int i = 0; i < kRuns; ++i) {
    const RunEnded end = fixture.wait_ended();
    EXPECT_EQ(get_end<Completion>(end).result, "1");
    ended.push_back(end.lease);
  }
  EXPECT_TRUE(std::ranges::is_permutation(leases, ended)) << "each exactly once";
}

TEST(ProcessRuns, WordsForARunThatIsOverAreIgnored) {
  RunsFixture fixture;
  const Lease lease = fixture.start_agent(R"({"print":"1"})");
  std::ignore = fixture.wait_ended();
  fixture.runs().stop(lease, StopReason::kCancelled);
  fixture.runs().lease_renewed(lease, system_clock().mono());
  fixture.start_agent(R"({"print":"2"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "2");
}

}  // namespace
}  // namespace drover::test
