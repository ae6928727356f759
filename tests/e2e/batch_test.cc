// drover enqueue --batch: all or nothing, refs between lines, errors with their line.
#include <algorithm>
#include <sstream>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class BatchTest : public E2eTest {
 protected:
  std::vector<std::string> enqueue_batch(const std::string& lines) {
    std::istringstream answer(sandbox.must({"enqueue", "--batch", "-"}, lines));
    std::vector<std::string> ids;
    for (std::string id; std::getline(answer, id);) ids.push_back(id);
    return ids;
  }
};

TEST_F(BatchTest, RefsBecomeParents) {
  const auto ids = enqueue_batch(R"({"type":"test","depends_on":["@b"]}
{"type":"build","ref":"b","payload":{"n":0.10}}

{"type":"ship","depends_on":["@b","@t"],"on_parent_failure":"fail"}
{"type":"test","ref":"t","depends_on":["@b"]}
)");
  ASSERT_EQ(ids.size(), 4U);
  EXPECT_EQ(at(sandbox.show(ids[0]), "depends_on"), "[\"" + ids[1] + "\"]");
  EXPECT_EQ(at(sandbox.show(ids[1]), "state"), "pending");
  EXPECT_EQ(at(sandbox.show(ids[1]), "payload"), R"({"n":0.10})");
  EXPECT_EQ(at(sandbox.show(ids[2]), "depends_on"), "[\"" + ids[1] + "\",\"" + ids[3] + "\"]");
  EXPECT_EQ(at(sandbox.show(ids[2]), "state"), "blocked");
}

TEST_F(BatchTest, AChainRunsInOrder) {
  const auto ids = enqueue_batch(R"({"type":"work","ref":"a"}
{"type":"work","ref":"b","depends_on":["@a"]}
{"type":"work","ref":"c","depends_on":["@b"]}
)");
  EventStream events = sandbox.events();
  work_until_empty("work", agentsim(), {"--concurrency", "4"});
  for (const std::string& id : ids) {
    EXPECT_TRUE(events.next("task.claimed", id, Millis{5'000}));
    EXPECT_TRUE(events.next("task.completed", id, Millis{5'000}));
  }
}

TEST_F(BatchTest, ParentsFailureSpreadsByPolicy) {
  const auto ids = enqueue_batch(R"({"type":"work","ref":"a","payload":{"exit":65}}
{"type":"work","depends_on":["@a"]}
{"type":"work","depends_on":["@a"],"on_parent_failure":"fail"}
{"type":"work","depends_on":["@a"],"on_parent_failure":"run"}
)");
  work_until_empty("work", agentsim());
  EXPECT_EQ(sandbox.state_of(ids[0]), "failed");
  EXPECT_EQ(sandbox.state_of(ids[1]), "cancelled");
  EXPECT_EQ(sandbox.state_of(ids[2]), "failed");
  EXPECT_EQ(at(*sandbox.show(ids[2]).find("error"), "class"), "parent_failed");
  EXPECT_EQ(sandbox.state_of(ids[3]), "completed");
}

TEST_F(BatchTest, TakesIdsOfTheCallersChoice) {
  const std::string id = "01920f5e-7a3c-7def-8123-456789abcdef";
  EXPECT_EQ(enqueue_batch("{\"type\":\"work\",\"id\":\"" + id + "\"}\n"), std::vector{id});
  const std::string before = sandbox.dump();
  const Outcome again = sandbox.drover({"enqueue", "--batch", "-"}, "{\"type\":\"work\",\"id\":\"" + id + "\"}\n");
  expect_refused(again, 6, "request_conflict");
  EXPECT_EQ(sandbox.dump(), before);
}

TEST_F(BatchTest, ReadsAFileAndAnswersInJson) {
  sandbox.write_file("tasks.ndjson", "{\"type\":\"a\"}\n{\"type\":\"b\"}\n");
  const std::string answer = sandbox.must({"enqueue", "--batch", "tasks.ndjson", "--json"});
  EXPECT_EQ(std::ranges::count(answer, '\n'), 2);
  EXPECT_TRUE(contains(answer, "\"deduplicated\":false"));
}

TEST_F(BatchTest, WaitsForAllAndTakesTheWorstFate) {
  const auto worker = sandbox.start(work("work", agentsim()));
  const Outcome good =
      sandbox.drover({"enqueue", "--batch", "-", "--wait"}, "{\"type\":\"work\"}\n{\"type\":\"work\"}\n");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  const Outcome bad = sandbox.drover({"enqueue", "--batch", "-", "--wait"},
                                     "{\"type\":\"work\",\"payload\":{\"exit\":65}}\n{\"type\":\"work\"}\n");
  EXPECT_EQ(bad.exit_code, 10) << bad.err;
}

}  // namespace
}  // namespace drover::e2e
