// Typed contracts over the command line: what is refused, and what a worker makes of a refused result.
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class ContractsTest : public E2eTest {
 protected:
  void agree(std::string_view types) {
    sandbox.write_file("policy.yaml", types);
    sandbox.must({"config", "apply", sandbox.file("policy.yaml")});
  }
};

TEST_F(ContractsTest, AnInvalidPayloadIsRefusedWithItsPath) {
  agree("types:\n  lint:\n    payload_schema: {properties: {files: {items: {type: string}}}}\n");
  const Outcome refused = sandbox.drover({"enqueue", "lint", "--payload", R"({"files":["a",3]})"});
  expect_refused(refused, 1, "invalid_payload");
  EXPECT_TRUE(contains(refused.err, "payload: /files/1: expected string, found number"));
}

TEST_F(ContractsTest, ABadSchemaIsRefusedWithItsLine) {
  sandbox.write_file("bad.yaml", "types:\n  lint:\n    payload_schema:\n      type: object\n      require: [a]\n");
  const Outcome refused = sandbox.drover({"config", "apply", sandbox.file("bad.yaml")});
  expect_refused(refused, 1, "invalid_config");
  EXPECT_TRUE(contains(refused.err,
                       "bad.yaml:5: types.lint.payload_schema.require: unknown keyword \"require\" (did you "
                       "mean \"required\"?)"));
}

// The type requires a decision report: a completion without one is refused, the run fails by the normal rules, and the
// next run is told which part is missing.
TEST_F(ContractsTest, AMissingDecisionReportEndsByTheRetryRules) {
  agree("types:\n  decide: {decision_report: required, max_attempts: 2, retry: 'fixed:10ms'}\n");
  const std::string id = sandbox.enqueue({"decide"});
  const std::string agent =
      R"(if [ "$DROVER_ATTEMPT" = 1 ]; then echo '{"decision_report":{"why":"w","what":"w","tradeoffs":"t"}}'; )"
      R"(else echo '{"decision_report":{"why":"w","what":"w","tradeoffs":"t","risks":["r"],"test_results":"ok","next_steps":"n"}}'; fi)";
  work_until_empty("decide", {"sh", "-c", agent});
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "completed");
  EXPECT_EQ(at(task, "attempts"), "2");
  const json::Value runs = sandbox.must_json({"show", id, "--runs", "--json"});
  ASSERT_EQ(runs.as_array()->size(), 2u);
  const json::Value& first = runs.as_array()->back();
  EXPECT_EQ(at(first, "outcome"), "retrying");
  EXPECT_EQ(at(*first.find("error"), "class"), "agent_error");
  EXPECT_EQ(at(*first.find("error"), "message"), "result: /decision_report/risks: is missing");
}

TEST_F(ContractsTest, AFollowUpIsRunByItsOwnWorkers) {
  agree("types:\n  build: {on_success: {type: announce}}\n");
  sandbox.enqueue({"build"});
  work_until_empty("build", {"sh", "-c", "echo '{\"artifact\":\"a.tar\"}'"});
  work_until_empty("announce", {"cat"});
  const json::Value listed = sandbox.must_json({"list", "--type", "announce", "--json"});
  ASSERT_EQ(listed.as_array()->size(), 1u);
  const json::Value task = listed.as_array()->front();
  EXPECT_EQ(at(*task.find("result")->find("task"), "result"), R"({"artifact":"a.tar"})");
}

}  // namespace
}  // namespace drover::e2e
