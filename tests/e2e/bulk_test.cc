// Bulk operations by hand: cancel, retry and edit of many tasks, and drover bulk.
#include "e2e/e2e_test.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

class BulkTest : public E2eTest {
 protected:
  void enqueue_many(int n, const std::string& type, const std::string& tag) {
    for (int i = 0; i < n; ++i) sandbox.enqueue({type, "--tag", tag});
  }
  std::size_t count(const std::string& state) {
    return sandbox.must_json({"list", "--state", state, "--limit", "10000", "--json"}).as_array()->size();
  }
};

TEST_F(BulkTest, CancelRetryAndEditByFilter) {
  enqueue_many(5, "review", "nightly");
  enqueue_many(2, "other", "daily");
  const Outcome dry = sandbox.drover({"cancel", "--type", "review", "--state", "pending", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_TRUE(contains(dry.err, "would cancel 5 tasks: 5 pending")) << dry.err;
  EXPECT_EQ(std::ranges::count(dry.out, '\n'), 5);
  EXPECT_EQ(count("pending"), 7U);
  const Outcome unasked = sandbox.drover({"cancel", "--type", "review"});
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_TRUE(contains(unasked.err, "this would cancel 5 tasks: add --yes")) << unasked.err;
  const Outcome done = sandbox.drover({"cancel", "--type", "review", "--yes", "--reason", "gone"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(contains(done.err, "cancelled 5 tasks"));
  EXPECT_EQ(count("cancelled"), 5U);
  const Outcome back = sandbox.drover({"retry", "--state", "cancelled", "--tag", "nightly", "--yes", "--json"});
  EXPECT_EQ(at(test::must(json::parse(back.out)), "done"), "5") << back.err;
  EXPECT_EQ(count("pending"), 7U);
  EXPECT_EQ(sandbox.drover({"edit", "--tagged", "daily", "--priority", "1", "--yes"}).exit_code, 0);
  const json::Value daily = sandbox.must_json({"list", "--tag", "daily", "--json"});
  for (const json::Value& task : *daily.as_array()) {
    EXPECT_EQ(at(task, "priority"), "1");
  }
  const auto listed = sandbox.must_json({"bulk", "list", "--json"});
  ASSERT_EQ(listed.as_array()->size(), 3U);
  EXPECT_EQ(at(listed.as_array()->front(), "verb"), "edit");
  const std::string id = at(listed.as_array()->back(), "id");
  EXPECT_TRUE(contains(sandbox.must({"bulk", "show", id}), "why       gone"));
  expect_refused(sandbox.drover({"bulk", "stop", id}), 6, "wrong_state");
  expect_refused(sandbox.drover({"bulk", "show", "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d"}), 5, "not_found");
  EXPECT_EQ(sandbox.drover({"fsck"}).exit_code, 0);
}

TEST_F(BulkTest, SeveralIdsNeedNoYes) {
  const std::string first = sandbox.enqueue({"work"});
  const std::string second = sandbox.enqueue({"work"});
  EXPECT_EQ(sandbox.drover({"cancel", first, second}).exit_code, 0);
  EXPECT_EQ(count("cancelled"), 2U);
  const Outcome again = sandbox.drover({"cancel", first, second, "--json"});
  EXPECT_EQ(again.exit_code, 6);
  EXPECT_EQ(at(test::must(json::parse(again.out)), "skipped"), "2");
}

}  // namespace
}  // namespace drover::e2e
