// drover up: a project's workers in one process, once the project is trusted.
#include <fmt/format.h>

#include <csignal>

#include "e2e/e2e_test.h"
#include "e2e/server_process.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

class UpTest : public E2eTest {
 protected:
  UpTest() {
    sandbox.set("DROVER_STORE", "");
    sandbox.write_file("drover.yaml", fmt::format(R"(types:
  greet: {{queue: eng, max_attempts: 5}}
local:
  runners:
    greet: {{argv: ["{}", "print=hello"], concurrency: 2}}
)",
                                                  AGENTSIM_BIN));
  }

  std::unique_ptr<Process> start_up(const Arguments& options = {}) {
    Arguments arguments{"up"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto up = sandbox.start(arguments);
    const Millis end = mono_now() + kHangs;
    while (up->errors().find("up on") == std::string::npos && mono_now() < end && !up->wait(Millis{20})) {
    }
    return up;
  }

  // What stands in the first line that it wrote between two texts.
  static std::string said_between(const Process& up, std::string_view before, std::string_view after) {
    const std::string said = up.errors();
    const std::size_t begin = said.find(before);
    if (begin == std::string::npos) return "";
    return said.substr(begin + before.size(), said.find(after, begin) - begin - before.size());
  }
  static std::string address_of(const Process& up) { return said_between(up, "serving on ", ";"); }
  static std::string token_file_of(const Process& up) { return said_between(up, "your token is in ", "\n"); }
};

TEST_F(UpTest, RunsWhatATrustedProjectSays) {
  const json::Value trusted = sandbox.must_json({"trust", "--json"});
  EXPECT_EQ(at(trusted, "sha256").size(), 64U);
  const auto up = start_up();
  EXPECT_TRUE(std::filesystem::exists(sandbox.file(".drover/drover.db")));
  const Outcome outcome = sandbox.drover({"run", "greet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << up->errors();
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(at(sandbox.must_json({"config", "show", "--json"}), "version"), "1");
  up->signal(SIGTERM);
  EXPECT_EQ(up->wait(kHangs), (Exit{.code = 0}));
}

// Tasks take their type's settings when they are enqueued, so a policy that nobody has applied is easily missed.
TEST_F(UpTest, TrustSaysFromWhenThePolicyCounts) {
  EXPECT_NE(sandbox.drover({"trust"}).err.find("its policy counts for tasks that you enqueue once `drover up` runs"),
            std::string::npos);
  sandbox.write_file("drover.yaml", "local: {runners: {greet: {argv: [echo, hello]}}}\n");
  EXPECT_EQ(sandbox.drover({"trust"}).err.find("policy"), std::string::npos);
}

// It waits in the queue of its type's name: nobody had told the store of another one.
TEST_F(UpTest, RunsWhatWasEnqueuedBeforeItAppliedThePolicy) {
  std::filesystem::create_directory(sandbox.file(".drover"));
  sandbox.must({"trust"});
  const std::string id = sandbox.enqueue({"greet"});
  EXPECT_EQ(at(sandbox.show(id), "queue"), "greet");
  const auto up = start_up();
  EXPECT_TRUE(contains(up->errors(), "with 1 worker;"));
  EXPECT_EQ(sandbox.must({"wait", "-q", id}), "completed\n");
}

TEST_F(UpTest, RefusesAProjectThatIsNotTrusted) {
  const Outcome refused = sandbox.drover({"up"});
  expect_refused(refused, 4, "forbidden");
  EXPECT_TRUE(contains(refused.err, "drover trust " + sandbox.file("drover.yaml")));
  EXPECT_FALSE(std::filesystem::exists(sandbox.file(".drover")));
}

TEST_F(UpTest, RefusesAProjectThatWasEditedSinceItWasTrusted) {
  sandbox.must({"trust"});
  sandbox.write_file("drover.yaml", "types:\n  greet: {queue: other}\n");
  expect_refused(sandbox.drover({"up"}), 4, "forbidden");
}

TEST_F(UpTest, AChangedProjectHasToBeTrustedAgain) {
  sandbox.must({"trust"});
  sandbox.write_file("drover.yaml", "local:\n  runners:\n    greet: {argv: [\"/bin/true\"]}\n");
  expect_refused(sandbox.drover({"work", "--type", "greet", "--until-empty"}), 4, "forbidden");
  sandbox.must({"trust"});
  EXPECT_EQ(sandbox.drover({"work", "--type", "greet", "--until-empty"}).exit_code, 0);
}

TEST_F(UpTest, TellsOfTheFolderThatItMakes) {
  sandbox.must({"trust"});
  const std::string before = "sqlite:" + sandbox.file("state/drover/drover.db");
  EXPECT_TRUE(contains(start_up()->errors(), "created " + sandbox.file(".drover")));
  EXPECT_FALSE(contains(start_up()->errors(), "created"));
  std::filesystem::remove_all(sandbox.file(".drover"));
  const std::string id = sandbox.enqueue({"greet"});
  EXPECT_TRUE(contains(start_up()->errors(), "unfinished ones are in --store " + before));
  EXPECT_EQ(sandbox.must({"list", "-q", "--store", before}), id + "\n");
  std::filesystem::remove_all(sandbox.file(".drover"));
  sandbox.must({"cancel", id});
  EXPECT_FALSE(contains(start_up()->errors(), "unfinished"));
}

TEST_F(UpTest, TrustSaysWhatMayRun) {
  EXPECT_TRUE(contains(sandbox.drover({"trust"}).err, "may run:\n  greet: "));
  sandbox.write_file("drover.yaml", "types:\n  greet: {queue: eng}\n");
  const Outcome nothing = sandbox.drover({"trust"});
  EXPECT_TRUE(contains(nothing.err, "nothing runs"));
  EXPECT_FALSE(contains(nothing.err, "may run:"));
}

TEST_F(UpTest, ASecondSignalStopsRunningTasks) {
  sandbox.must({"trust"});
  EventStream events = sandbox.events();
  const auto up = start_up();
  const std::string id = sandbox.enqueue({"greet", "--payload", R"({"hang":true})"});
  EventStream later = sandbox.events();
  ASSERT_TRUE(later.next("task.claimed", id));
  up->signal(SIGINT);
  up->signal(SIGTERM);
  EXPECT_EQ(up->wait(kHangs), (Exit{.code = 0})) << up->errors();
  EXPECT_EQ(sandbox.state_of(id), "pending");
  EXPECT_EQ(at(sandbox.show(id), "attempts"), "0");
}

TEST_F(UpTest, ServesWhatItsWorkersWorkOn) {
  sandbox.must({"trust"});
  const auto up = start_up();
  const Outcome outcome =
      sandbox.drover({"--store", address_of(*up), "--token-file", token_file_of(*up), "run", "greet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << up->errors();
  EXPECT_EQ(outcome.out, "hello\n");
  const Outcome unknown = sandbox.drover({"--store", address_of(*up), "list"});
  expect_refused(unknown, 4, "unauthorised");
  EXPECT_TRUE(contains(unknown.err, "set DROVER_TOKEN or --token-file"));
  up->signal(SIGTERM);
  EXPECT_EQ(up->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(UpTest, KeepsTheTokenOfItsUser) {
  sandbox.must({"trust"});
  const std::string file = token_file_of(*start_up());
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto again = start_up();
  EXPECT_EQ(token_file_of(*again), file);
  EXPECT_EQ(sandbox.must_json({"token", "list", "--json"}).as_array()->size(), 1U);
  // One that was revoked is of no use to anybody.
  sandbox.must({"token", "revoke", at(sandbox.must_json({"token", "list", "--json"}).as_array()->front(), "id")});
  const auto anew = start_up();
  EXPECT_EQ(sandbox.drover({"--store", address_of(*anew), "--token-file", file, "list"}).exit_code, 0);
}

TEST_F(UpTest, ChangesNothingWhenItsAddressIsTaken) {
  sandbox.must({"trust"});
  const Sandbox other;
  const auto server = other.start({"serve", "--store", "memory:"});
  for (const Arguments& verb : {Arguments{"up"}, Arguments{"serve", "--store", "sqlite:" + sandbox.file("new.db")}}) {
    Arguments arguments = verb;
    arguments.insert(arguments.end(), {"--listen", e2e::address_of(*server)});
    const Outcome second = sandbox.drover(arguments);
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_TRUE(contains(second.err, "choose another address with --listen")) << second.err;
  }
  EXPECT_FALSE(std::filesystem::exists(sandbox.file(".drover")));
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("new.db")));
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("state/drover/tokens")));
}

// Redis takes any password of a user who needs none.
TEST_F(UpTest, ShowsNoPassword) {
  sandbox.must({"trust"});
  std::string url = test::shared_redis().tcp_url(test::fresh_prefix());
  url.insert(std::string_view("redis://").size(), "default:swordfish@");
  const auto up = start_up({"--store", url});
  EXPECT_TRUE(contains(up->errors(), "up on redis://")) << up->errors();
  EXPECT_FALSE(contains(up->errors(), "swordfish")) << up->errors();
}

TEST_F(UpTest, AnUntrustedProjectMayNotChooseAStoreElsewhere) {
  sandbox.write_file("drover.yaml", "store: sqlite:/var/lib/elsewhere.db\n");
  expect_refused(sandbox.drover({"list"}), 4, "forbidden");
}

}  // namespace
}  // namespace drover::e2e
