// Budgets that say `ask`: one question for each breach, which people answer; and what withdraws it.
#include <algorithm>

#include "conformance/budget_fixture.h"

namespace drover::test {
namespace {

constexpr std::string_view kAsk = R"({"usd":2,"per":"day","on_breach":"ask"})";

class BudgetQuestions : public BudgetTest {
 protected:
  void SetUp() override { apply(std::string(kAsk)); }

  std::vector<Question> questions(std::optional<QuestionState> state = QuestionState::kOpen) {
    return must(queue().questions({.state = state}, 100, std::nullopt)).questions;
  }
  Question question() {
    const auto open = questions();
    EXPECT_EQ(open.size(), 1U);
    return open.empty() ? Question{} : open.front();
  }
  Question answer(const std::string& word) {
    const Question asked = question();
    return must(queue().answer(asked.id, {.value = answer_from_word(asked, word), .by = "ann"}));
  }
  // Uses up the budget, and goes back to wait for more.
  TaskId breach() {
    enqueue_many(1);
    const ClaimedTask one = claim_one();
    obey(one.lease, spend(one.lease, 2'100'000).value_or(BudgetStop{}), 2'100'000);
    pass(0ms);
    return one.task.id;
  }
};
ON_EVERY_STORE(BudgetQuestions);

TEST_P(BudgetQuestions, SaysGateAmountAndReset) {
  breach();
  const Question asked = question();
  EXPECT_EQ(asked.gate, "owner:ann");
  EXPECT_EQ(asked.owner, "ann");
  EXPECT_FALSE(asked.task_id);
  EXPECT_EQ(asked.options, (std::vector<std::string>{"raise", "stop"}));
  EXPECT_EQ(asked.expires_at, budget().resets_at);
  const std::vector<std::string> facts{"owner:ann", "2 USD", format_time(*budget().resets_at)};
  for (const std::string& said : facts) {
    EXPECT_NE(asked.text.find(said), std::string::npos) << asked.text;
  }
  EXPECT_EQ(count_events("question.asked"), 1);
}

TEST_P(BudgetQuestions, OfManyRunsThatBreachAtOnceIsOne) {
  apply(R"({"usd":16,"per":"day","on_breach":"ask"})");
  enqueue_many(40);
  auto running = claim(32);
  ASSERT_EQ(running.size(), 32U);
  for (const ClaimedTask& one : running) spend(one.lease, 500'000);
  std::vector<BudgetStop> stops;
  for (const ClaimedTask& one : running) {
    const auto stop = spend(one.lease, 600'000);
    ASSERT_TRUE(stop);
    stops.push_back(*stop);
  }
  for (std::size_t i = 0; i < running.size(); ++i) obey(running[i].lease, stops[i], 600'000);
  pass(0ms);
  EXPECT_EQ(questions(std::nullopt).size(), 1U);
  EXPECT_EQ(count_events("budget.breached"), 1);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(answer("raise").state, QuestionState::kAnswered);
  EXPECT_EQ(budget().limit(), 32'000'000);
  const auto again = claim(100);
  EXPECT_EQ(again.size(), 25U) << "12.8 dollars are left, and each may spend 0.5";
  EXPECT_TRUE(std::ranges::all_of(again, [](const ClaimedTask& one) { return one.task.attempts <= 1; }));
}

TEST_P(BudgetQuestions, RaiseLetsTheSameSessionGoOn) {
  enqueue({.type = "work", .owner = "ann", .session = "review"});
  const ClaimedTask one = claim_one();
  const RunReport met{.agent = AgentState{.preset = "claude", .session_id = "s-1"}, .usage = cost(2'100'000)};
  const auto stop = must(queue().report(one.lease, met)).stop;
  ASSERT_TRUE(stop);
  obey(one.lease, *stop, 2'100'000);
  pass(0ms);
  EXPECT_TRUE(claim(1).empty());
  answer("raise");
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, one.task.id);
  EXPECT_EQ(again.task.agent, get(one.task.id).agent);
  EXPECT_TRUE(again.task.agent);
  EXPECT_EQ(again.task.attempts, 1);
  EXPECT_EQ(count_events("budget.raised"), 1);
}

TEST_P(BudgetQuestions, StopWaitsForTheNextPeriodAndAsksNoMore) {
  const TaskId waits = breach();
  EXPECT_EQ(answer("stop").state, QuestionState::kAnswered);
  advance(1min);
  watch_health();
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(questions(std::nullopt).size(), 1U);
  pass(24h);
  EXPECT_EQ(claim_one().task.id, waits);
}

TEST_P(BudgetQuestions, IsAnsweredByOneOfItsOptions) {
  breach();
  EXPECT_EQ(code_of(queue().answer(question().id, {.value = R"("perhaps")", .by = "ann"})),
            ErrorCode::kInvalidArgument);
  answer("raise");
  EXPECT_EQ(budget().limit(), 4'000'000);
  const QuestionId id = questions(std::nullopt).front().id;
  EXPECT_EQ(code_of(queue().answer(id, {.value = R"("raise")", .by = "bob"})), ErrorCode::kWrongState);
  EXPECT_EQ(budget().limit(), 4'000'000) << "raised once";
}

TEST_P(BudgetQuestions, NoSpawnerAnswersIt) {
  breach();
  const Lease other = start_new({.type = "free"});
  EXPECT_EQ(code_of(queue().answer(question().id, {.value = R"("raise")", .spawner = other})), ErrorCode::kForbidden);
  EXPECT_EQ(question().state, QuestionState::kOpen);
}

TEST_P(BudgetQuestions, ASecondBreachAfterARaiseAsksAgain) {
  const TaskId id = breach();
  answer("raise");
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, id);
  EXPECT_TRUE(spend(again.lease, 3'000'000));
  EXPECT_EQ(questions(std::nullopt).size(), 2U);
  EXPECT_NE(question().text.find("of 4 USD"), std::string::npos) << question().text;
  EXPECT_NE(question().text.find("by 2 USD"), std::string::npos) << question().text;
}

TEST_P(BudgetQuestions, IsWithdrawnWhenItIsMoot) {
  breach();
  const auto state_of = [&] { return questions(std::nullopt).front().state; };
  must(queue().raise_budget({.gate = "owner:ann", .by_amount = 1, .by = "op", .why = "go"}));
  EXPECT_EQ(state_of(), QuestionState::kWithdrawn) << "raised by hand";
  EXPECT_EQ(count_events("question.withdrawn"), 1);
}

TEST_P(BudgetQuestions, IsWithdrawnWithItsPeriod) {
  breach();
  pass(24h);
  EXPECT_TRUE(questions().empty());
  EXPECT_EQ(questions(std::nullopt).front().state, QuestionState::kWithdrawn);
  breach();
  EXPECT_EQ(questions(std::nullopt).size(), 2U) << "of the next one";
}

TEST_P(BudgetQuestions, IsWithdrawnWithItsBudget) {
  breach();
  apply_document(R"("owners":{})");
  EXPECT_EQ(questions(std::nullopt).front().state, QuestionState::kWithdrawn);
  apply(std::string(kAsk));
  EXPECT_TRUE(questions().empty());
}

TEST_P(BudgetQuestions, OneThatChangesItsMindIsWithdrawn) {
  breach();
  apply(R"({"usd":2,"per":"day","on_breach":"pause"})");
  EXPECT_EQ(questions(std::nullopt).front().state, QuestionState::kWithdrawn);
}

TEST_P(BudgetQuestions, IsAskedWhenWhatIsLeftIsLessThanARunNeeds) {
  enqueue_many(5);
  const auto running = claim(4);
  for (const ClaimedTask& one : running) finish(one.lease, 450'000);
  EXPECT_TRUE(claim(1).empty()) << "0.2 dollars are left";
  EXPECT_TRUE(questions().empty());
  advance(1min);
  watch_health();
  EXPECT_EQ(question().gate, "owner:ann");
  advance(1min);
  watch_health();
  EXPECT_EQ(questions(std::nullopt).size(), 1U);
  answer("raise");
  EXPECT_EQ(claim(9).size(), 1U);
}

TEST_P(BudgetQuestions, IsAskedOfTheLastRunThatUsesItUp) {
  enqueue_many(1);
  finish(claim_one().lease, 2'500'000);
  advance(1min);
  watch_health();
  EXPECT_EQ(question().gate, "owner:ann");
}

TEST_P(BudgetQuestions, SurviveARestart) {
  const TaskId waits = breach();
  reopen();
  answer("raise");
  EXPECT_EQ(claim_one().task.id, waits);
}

}  // namespace
}  // namespace drover::test
