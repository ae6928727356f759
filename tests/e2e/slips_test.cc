// Slips of the keys: what is asked for is not what was meant, and the answer says so.
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class SlipsTest : public E2eTest {};

TEST_F(SlipsTest, ASwitchWithAValueChangesNothing) {
  const std::string id = sandbox.enqueue({"work", "--payload", R"({"exit":65})"});
  work_until_empty("work", agentsim());
  for (const Arguments& slip :
       {Arguments{"dlq", "delete", "--all=false", "--yes"}, Arguments{"dlq", "delete", "--all", "--yes=false"},
        Arguments{"dlq", "retry", "--all", "--yes", "--dry-run=false"}}) {
    expect_refused(sandbox.drover(slip), 2, "invalid_argument");
  }
  EXPECT_EQ(sandbox.state_of(id), "failed");
  expect_refused(sandbox.drover({"enqueue", "work", "--at-most-once=false"}), 2, "invalid_argument");
}

// What it would print is an id of a task that is gone.
TEST_F(SlipsTest, AStoreInMemoryIsNotForOneCommand) {
  for (const Arguments& command :
       {Arguments{"enqueue", "work"}, Arguments{"run", "work"}, Arguments{"list"}, Arguments{"top", "--once"},
        Arguments{"queue", "pause", "work"}, Arguments{"work", "--type", "work", "--", "true"}}) {
    Arguments arguments{"--store", "memory:"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome refused = sandbox.drover(arguments);
    expect_refused(refused, 1, "invalid_argument");
    EXPECT_TRUE(contains(refused.err, "drover serve --store memory:"));
  }
}

TEST_F(SlipsTest, PausingAQueueThatNobodyKnowsWarns) {
  sandbox.enqueue({"work", "--owner", "ada"});
  const Outcome typo = sandbox.drover({"queue", "pause", "wrok"});
  EXPECT_EQ(typo.exit_code, 0);
  EXPECT_TRUE(contains(typo.err, "warning: no task, worker or policy names queue wrok; did you mean work?\n"));
  EXPECT_TRUE(contains(typo.err, "queue:wrok is closed"));
  for (const std::string gate : {"type:nobody", "owner:nobody", "provider:nobody"}) {
    EXPECT_TRUE(contains(sandbox.drover({"gate", "close", gate}).err, "warning: no task, worker or policy names"))
        << gate;
  }
  sandbox.must({"config", "apply", "-"},
               "types: {draft: {queue: texts, provider: anthropic}}\nowners: {ben: {weight: 2}}\n");
  for (const std::string gate : {"queue:work", "type:work", "owner:ada", "queue:texts", "type:draft", "owner:ben",
                                 "provider:anthropic", "lock:any", "all"}) {
    EXPECT_FALSE(contains(sandbox.drover({"gate", "close", gate}).err, "warning")) << gate;
  }
}

TEST_F(SlipsTest, AQueueThatAWorkerServesIsKnown) {
  const auto worker = sandbox.start(work("idle", agentsim()));
  const Millis end = mono_now() + kHangs;
  while (sandbox.must({"worker", "list", "--json"}) == "[]\n" && mono_now() < end) {
  }
  EXPECT_FALSE(contains(sandbox.drover({"queue", "pause", "idle"}).err, "warning"));
}

TEST_F(SlipsTest, ARunThatIsNotThereIsAnError) {
  const std::string id = sandbox.enqueue({"work"});
  expect_refused(sandbox.drover({"logs", id, "--run", "1"}), 5, "not_found");
  work_until_empty("work", agentsim());
  EXPECT_EQ(sandbox.drover({"logs", id, "--run", "1"}).exit_code, 0);
  const Outcome refused = sandbox.drover({"logs", "-f", id, "--run", "7"});
  expect_refused(refused, 5, "not_found");
  EXPECT_TRUE(contains(refused.err, "its latest is run 1"));
}

TEST_F(SlipsTest, AnEventBeyondTheNewestIsNoLoss) {
  sandbox.enqueue({"work"});
  const Outcome beyond = sandbox.drover({"events", "--after", "99999999"});
  EXPECT_EQ(beyond.exit_code, 0);
  EXPECT_TRUE(contains(beyond.err, "the newest event is "));
  EXPECT_FALSE(contains(beyond.err, "backwards"));
}

TEST_F(SlipsTest, ADryRunSaysWhatWouldChange) {
  const std::string policy = "types: {draft: {queue: texts}}\n";
  const Arguments rehearsal{"config", "apply", "-", "--dry-run", "--json"};
  const json::Value would = sandbox.must_json(rehearsal, policy);
  EXPECT_EQ(at(would, "changed"), "false");
  EXPECT_EQ(at(would, "would_change"), "true");
  EXPECT_EQ(at(would, "differences"), R"([{"path":"types.draft.queue","before":null,"after":"texts"}])");
  const Outcome text = sandbox.drover({"config", "apply", "-", "--dry-run"}, policy);
  EXPECT_EQ(text.out, "+ types.draft.queue: \"texts\"\n");
  EXPECT_EQ(at(sandbox.must_json({"config", "show", "--json"}), "version"), "0");
  EXPECT_EQ(at(sandbox.must_json({"config", "apply", "-", "--json"}, policy), "changed"), "true");
  EXPECT_EQ(at(sandbox.must_json(rehearsal, policy), "would_change"), "false");
}

}  // namespace
}  // namespace drover::e2e
