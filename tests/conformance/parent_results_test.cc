// What a task sees of its parents: their refs are kept, and templates are filled in when a run starts.
#include "worker/parent_results.h"
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class ParentResults : public ConformanceTest {
 protected:
  // Two tasks, the second of which depends on the first.
  std::vector<TaskId> enqueue_pair(TaskSpec second) {
    second.type = "work";
    second.depends_on = {"plan"};
    return enqueue_all({{.ref = "plan", .type = "work"}, second});
  }
};
ON_EVERY_STORE(ParentResults);

TEST_P(ParentResults, AreReadInTheOrderOfDependsOn) {
  const auto ids =
      enqueue_all({{.ref = "a", .type = "work"},
                   {.ref = "b", .type = "work"},
                   {.type = "work", .depends_on = {"a", "b"}, .on_parent_failure = OnParentFailure::kRun}});
  complete(start(ids[0]), R"({"n":1.50})");
  fail(start(ids[1]), ErrorClass::kInvalid, "no luck");
  const ClaimedTask claimed = claim_one();
  const auto parents = must(read_parents(queue(), claimed.task));
  ASSERT_EQ(parents.size(), 2U);
  EXPECT_EQ(parents[0],
            (ParentResult{
                .id = ids[0], .ref = "a", .type = "work", .state = TaskState::kCompleted, .result = R"({"n":1.50})"}));
  EXPECT_EQ(parents[1].ref, "b");
  EXPECT_EQ(parents[1].state, TaskState::kFailed);
  EXPECT_EQ(parents[1].result, std::nullopt);
  EXPECT_EQ(message_of(parents[1].error), "no luck");
}

TEST_P(ParentResults, AreReadThroughTheirChildOnly) {
  const auto ids = enqueue_all({{.ref = "a", .type = "work"}, {.type = "work", .depends_on = {"a"}}, {.type = "work"}});
  complete(start(ids[0]), R"({"n":1.50})");
  EXPECT_EQ(must(queue().parent(ids[1], ids[0])).result, R"({"n":1.50})");
  EXPECT_EQ(code_of(queue().parent(ids[1], ids[2])), ErrorCode::kNotFound) << "it does not depend on it";
  EXPECT_EQ(code_of(queue().parent(ids[0], ids[1])), ErrorCode::kNotFound) << "the other way round";
  must(queue().remove(ids[0], {}));
  EXPECT_EQ(code_of(queue().parent(ids[1], ids[0])), ErrorCode::kNotFound) << "it is deleted";
}

TEST_P(ParentResults, OfWhatIsGoneOnlyTheIdIsLeft) {
  const auto ids = enqueue_pair({});
  complete(start(ids[0]), "1");
  must(queue().remove(ids[0], {}));
  const auto parents = must(read_parents(queue(), claim_one().task));
  EXPECT_EQ(parents, (std::vector{ParentResult{.id = ids[0]}}));
}

TEST_P(ParentResults, FillTemplatesWhenARunStarts) {
  const auto ids = enqueue_pair({.payload = R"({"items":["{{parents.plan.result.items}}"],"n":0.10})",
                                 .prompt = "do {{parents.plan.result.what}}, not {{this}}",
                                 .templates = true});
  complete(start(ids[0]), R"({"what":"{{parents.plan.result.items}}","items":[1,"b"]})");
  const ClaimedTask claimed = claim_one();
  EXPECT_EQ(claimed.task.prompt, "do {{parents.plan.result.items}}, not {{this}}");
  EXPECT_EQ(claimed.task.payload, R"({"items":["[1,\"b\"]"],"n":0.10})");
  EXPECT_EQ(get(ids[1]).prompt, "do {{parents.plan.result.what}}, not {{this}}") << "what is stored stays";
  complete(claimed.lease);
}

TEST_P(ParentResults, FillNothingThatDidNotAskForIt) {
  const auto ids = enqueue_pair({.prompt = "{{parents.plan.result}}"});
  complete(start(ids[0]), "1");
  EXPECT_EQ(claim_one().task.prompt, "{{parents.plan.result}}");
}

TEST_P(ParentResults, ATemplateThatCannotBeFilledFailsTheTask) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{parents.plan.result.title}}", "the result has no \"title\""},
      {"{{parents.other.result}}", "the task has no parent \"other\""},
      {"{{parents.plan}}", "expected {{parents.REF.result}}"},
  };
  for (const auto& [prompt, why] : cases) {
    const auto ids = enqueue_pair({.prompt = prompt, .templates = true});
    complete(start(ids[0]), "{}");
    EXPECT_TRUE(claim(1).empty());
    const Task task = get(ids[1]);
    EXPECT_EQ(task.state, TaskState::kFailed) << prompt;
    EXPECT_EQ(class_of(task.error), ErrorClass::kInvalidPayload) << prompt;
    EXPECT_NE(message_of(task.error).find(prompt), std::string::npos) << message_of(task.error);
    EXPECT_NE(message_of(task.error).find(why), std::string::npos) << message_of(task.error);
  }
}

TEST_P(ParentResults, NameWhatFailedOrIsGone) {
  const auto ids = enqueue_pair(
      {.prompt = "{{parents.plan.result}}", .on_parent_failure = OnParentFailure::kRun, .templates = true});
  fail(start(ids[0]), ErrorClass::kInvalid);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_NE(message_of(get(ids[1]).error).find("parent plan has no result: it is failed"), std::string::npos);
}

}  // namespace
}  // namespace drover::test
