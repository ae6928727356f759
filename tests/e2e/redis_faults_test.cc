// Redis goes away under workers that run: their agents end with their leases, and everything goes on when it is back.
#include <csignal>
#include <filesystem>

#include "e2e/e2e_test.h"
#include "e2e/server_process.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

namespace fs = std::filesystem;

constexpr int kExitRefused = 1;
constexpr int kExitUnauthorised = 4;
constexpr int kExitUnavailable = 7;
// On top of what is promised: processes that start on a busy machine, and pauses of a connection of up to 2 s.
constexpr Millis kSlack{4'000};

class RedisFaultsTest : public E2eTest {
 protected:
  RedisFaultsTest() { sandbox.set("DROVER_STORE", server.tcp_url()); }

  Arguments witnessed(Arguments settings = {}) {
    settings.push_back("witness=" + sandbox.file("witness"));
    return agentsim(settings);
  }

  test::RedisServer server{{.appendonly = true, .appendfsync = "always"}};
};

TEST_F(RedisFaultsTest, AgentsRunUntilTheirLeaseEndsAndWorkResumesByItself) {
  std::vector<std::string> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(sandbox.enqueue({"work", "--payload", R"({"sleep_ms":1500})"}));
  const auto worker = sandbox.start(work("work", witnessed()));
  ASSERT_TRUE(await_line(sandbox.file("witness")));
  DeathWatch agents(sandbox.all_task_processes());
  ASSERT_GE(agents.size(), 1U);

  const Millis gone = mono_now();
  server.kill_hard();
  EXPECT_FALSE(agents.all_dead(kLease / 4)) << "an agent is not killed because Redis is away";
  const Outcome refused = sandbox.drover({"enqueue", "work"});
  expect_refused(refused, kExitUnavailable, "store_unavailable");
  EXPECT_LT(refused.took, Millis{7'000});
  EXPECT_TRUE(agents.all_dead(gone + kLease + kSlack - mono_now())) << "an agent outlived its lease";
  DeathWatch worker_itself({worker->pid()});
  EXPECT_FALSE(worker_itself.all_dead(gone + 2 * kLease - mono_now())) << worker->errors();

  server.start();
  for (const std::string& id : tasks) {
    EXPECT_EQ(sandbox.drover({"wait", id, "--timeout", "20s"}).exit_code, 0) << sandbox.must({"show", id});
  }
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0})) << worker->errors();
  EXPECT_EQ(sandbox.must({"fsck", "--json"}), "[]\n");
  EXPECT_EQ(sandbox.must_json({"list", "--json"}).as_array()->size(), tasks.size()) << "a refused enqueue was stored";
}

TEST_F(RedisFaultsTest, HungAgentIsDeadWhenItsLeaseEndsAndRunsAgain) {
  const std::string id = sandbox.enqueue({"work"});
  auto first = sandbox.start(
      work("work", witnessed({"hang=true", "ignore_term=true", "grandchild=" + sandbox.file("grandchild")})));
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  DeathWatch tree(Sandbox::processes_of(id));
  ASSERT_GE(tree.size(), 3U);
  server.kill_hard();
  EXPECT_TRUE(tree.all_dead(kLease + Millis{1'000}));
  server.start();
  first.reset();  // it would hang again
  const auto second = sandbox.start(work("work", witnessed()));
  EXPECT_EQ(sandbox.drover({"wait", id, "--timeout", "20s"}).exit_code, 0);
}

TEST_F(RedisFaultsTest, IdleWorkerFindsNewWorkAfterARestart) {
  const auto worker = sandbox.start(work("work", witnessed()));
  const std::string first = sandbox.enqueue({"work"});
  ASSERT_EQ(sandbox.drover({"wait", first, "--timeout", "20s"}).exit_code, 0);
  server.wait_for_blocked_clients(1);
  server.kill_hard();
  server.start();
  const std::string second = sandbox.enqueue({"work"});
  EXPECT_EQ(sandbox.drover({"wait", second, "--timeout", "10s"}).exit_code, 0);
}

TEST_F(RedisFaultsTest, FlushedRedisStopsClaimsUntilThatIsAccepted) {
  constexpr int kExitTimedOut = 124;
  const auto worker = sandbox.start(work("work", witnessed()));
  ASSERT_EQ(sandbox.drover({"wait", sandbox.enqueue({"work"}), "--timeout", "20s"}).exit_code, 0);
  EXPECT_EQ(sandbox.drover({"store", "show"}).exit_code, 0);
  server.run(redis::Command("FLUSHALL"));
  const std::string second = sandbox.enqueue({"work"});
  EXPECT_EQ(sandbox.drover({"wait", second, "--timeout", "1s"}).exit_code, kExitTimedOut);
  expect_refused(sandbox.drover(work("work", witnessed(), {"--until-empty"})), kExitRefused, "store_regressed");
  const json::Value explained = sandbox.must_json({"explain", second, "--json"});
  EXPECT_EQ(at(explained, "reason"), "store_regressed");
  EXPECT_TRUE(contains(at(explained, "text"), "drover store accept-regression")) << at(explained, "text");
  EXPECT_TRUE(sandbox.must({"explain", second}).starts_with("store_regressed\t"));
  const Outcome shown = sandbox.drover({"store", "show"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_TRUE(contains(shown.err, "acknowledged but missing: events 1 to 3")) << shown.err;
  // It was idle, and notices with its next beat or look for work.
  const Millis end = mono_now() + kHangs;
  while (mono_now() < end && !worker->errors().contains("store_regressed") && !worker->wait(Millis{20})) {
  }
  sandbox.must({"store", "accept-regression"});
  EXPECT_EQ(sandbox.drover({"wait", second, "--timeout", "20s"}).exit_code, 0);
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
  EXPECT_TRUE(contains(worker->errors(), "store_regressed"));
}

// Older files come back: whoever follows is told, and goes on with what is new, directly and through a server.
TEST_F(RedisFaultsTest, FollowersAreToldOfALossAndGoOn) {
  const auto serving = sandbox.start({"serve", "--listen", "127.0.0.1:0"});
  const std::string url = "http://" + address_of(*serving);
  std::string token = sandbox.must({"token", "create", "--role", "operator"});
  token.pop_back();
  sandbox.enqueue({"work"});
  const fs::path files = server.dir().path() / "appendonlydir";
  const fs::path saved = server.dir().path() / "saved";
  server.stop();
  fs::copy(files, saved, fs::copy_options::recursive);
  server.start();
  const std::string lost = sandbox.enqueue({"work"});

  std::vector<std::unique_ptr<Process>> followers;
  const auto follow = [&] { followers.push_back(sandbox.start({"events", "-f", "--after", "0", "--json"})); };
  follow();
  sandbox.set("DROVER_STORE", url);
  sandbox.set("DROVER_TOKEN", token);
  // The server may still pause before its next attempt to reach Redis, and says so to who begins to follow.
  const auto end = std::chrono::steady_clock::now() + kHangs;
  while (sandbox.drover({"list"}).exit_code != 0) ASSERT_LT(std::chrono::steady_clock::now(), end);
  follow();
  sandbox.set("DROVER_STORE", server.tcp_url());
  // The first line that has this in it.
  const auto await = [](Process& follower, const std::string& part) -> std::string {
    while (const auto line = follower.read_line(kHangs)) {
      if (contains(*line, part)) return *line;
    }
    return "(none) " + follower.errors();
  };
  for (const auto& follower : followers) EXPECT_TRUE(contains(await(*follower, lost), lost));

  server.kill_hard();
  fs::remove_all(files);
  fs::copy(saved, files, fs::copy_options::recursive);
  server.start();
  const std::string fresh = sandbox.enqueue({"work"});
  for (const auto& follower : followers) {
    EXPECT_EQ(await(*follower, "gap"), R"({"kind":"gap","after":3,"seq":2})");
    EXPECT_TRUE(contains(await(*follower, fresh), R"("seq":3,)"));
  }
  const Outcome diagnosis = sandbox.drover({"doctor", "--json"});
  EXPECT_TRUE(contains(diagnosis.out, "the store went backwards, gone: event 3")) << diagnosis.out;
}

TEST_F(RedisFaultsTest, RefusedSignInDoesNotShowThePassword) {
  sandbox.set("DROVER_STORE", "redis://drover:hunter2@127.0.0.1:" + std::to_string(server.port()));
  const Outcome outcome = sandbox.drover({"list"});
  expect_refused(outcome, kExitUnauthorised, "unauthorised");
  EXPECT_FALSE(contains(outcome.err, "hunter2"));
}

TEST_F(RedisFaultsTest, EvictingServerIsRefusedByEveryCommandWithTheFix) {
  server.run(redis::Command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"));
  const std::vector<Arguments> commands{
      {"enqueue", "work"}, {"list"}, {"fsck"}, {"config", "show"}, work("work", agentsim())};
  for (const Arguments& command : commands) {
    const Outcome outcome = sandbox.drover(command);
    expect_refused(outcome, kExitRefused, "invalid_config");
    EXPECT_TRUE(contains(outcome.err, "maxmemory-policy is allkeys-lru"));
    EXPECT_TRUE(contains(outcome.err, "CONFIG SET maxmemory-policy noeviction"));
  }
  server.run(redis::Command("CONFIG", "SET", "maxmemory-policy", "noeviction"));
  sandbox.enqueue({"work"});
}

}  // namespace
}  // namespace drover::e2e
