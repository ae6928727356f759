// drover up: a project's workers in one process, once the project is trusted.
#include <fmt/format.h>

#include <csignal>

#include "e2e/e2e_test.h"

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

  std::unique_ptr<Process> start_up() {
    auto up = sandbox.start({"up"});
    const Millis end = mono_now() + kHangs;
    while (up->errors().find("up on") == std::string::npos && mono_now() < end && !up->wait(Millis{20})) {
    }
    return up;
  }
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

TEST_F(UpTest, RunsNothingOfAProjectThatIsNotTrusted) {
  const auto up = start_up();
  EXPECT_TRUE(contains(up->errors(), "drover trust"));
  EXPECT_EQ(sandbox.must({"worker", "list", "--json"}), "[]\n");
  EXPECT_EQ(at(sandbox.must_json({"config", "show", "--json"}), "version"), "0");
}

TEST_F(UpTest, AChangedProjectHasToBeTrustedAgain) {
  sandbox.must({"trust"});
  sandbox.write_file("drover.yaml", "local:\n  runners:\n    greet: {argv: [\"/bin/true\"]}\n");
  expect_refused(sandbox.drover({"work", "--type", "greet", "--until-empty"}), 4, "forbidden");
  sandbox.must({"trust"});
  EXPECT_EQ(sandbox.drover({"work", "--type", "greet", "--until-empty"}).exit_code, 0);
}

TEST_F(UpTest, TellsOfTheFolderThatItMakes) {
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

TEST_F(UpTest, AnUntrustedProjectMayNotChooseAStoreElsewhere) {
  sandbox.write_file("drover.yaml", "store: sqlite:/var/lib/elsewhere.db\n");
  expect_refused(sandbox.drover({"list"}), 4, "forbidden");
}

}  // namespace
}  // namespace drover::e2e
