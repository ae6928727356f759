// The rules of questions, without a store.
#include "core/question.h"

#include <gtest/gtest.h>

#include "core/question_json.h"
#include "core/question_pages.h"
#include "core/transition.h"
#include "support/must.h"

namespace drover::test {
namespace {

using namespace std::chrono_literals;

const Time kNoon{Millis{1'800'000'000'000}};

QuestionId question_id(std::uint8_t last) {
  TaskId::Bytes bytes{};
  bytes.fill(7);
  bytes.back() = last;
  return QuestionId(bytes);
}

TaskRecord asker(TaskState state = TaskState::kRunning) {
  TaskRecord record;
  record.task.id = TaskId(TaskId::Bytes{1, 2, 3});
  record.task.owner = "anna";
  record.task.state = state;
  record.task.generation = 2;
  record.first_generation = 2;
  record.revision = 5;
  return record;
}

Question open_question(const QuestionSpec& spec = {.text = "Shall I?"}) {
  return new_question(question_id(1), asker(), must(checked_question(spec)), SpawnerIs::kAway, kNoon);
}

TEST(QuestionRules, AKeyIsAHashOfTheTextUnlessItIsGiven) {
  const QuestionSpec spec = must(checked_question({.text = "Shall I?"}));
  EXPECT_EQ(spec.key, must(checked_question({.text = "Shall I?"})).key);
  EXPECT_NE(spec.key, must(checked_question({.text = "Shall you?"})).key);
  EXPECT_EQ(must(checked_question({.text = "Shall I?", .key = "k"})).key, "k");
}

TEST(QuestionRules, WhatIsAnAnswer) {
  struct Case {
    QuestionSpec spec;
    JsonText value;
    bool good;
  };
  const std::vector<Case> cases{
      {{.text = "?"}, "null", true},
      {{.text = "?"}, "nonsense", false},
      {{.text = "?", .options = {"a", "b"}}, R"("a")", true},
      {{.text = "?", .options = {"\u00e4"}}, R"("\u00e4")", true},
      {{.text = "?", .options = {"a", "b"}}, R"("c")", false},
      {{.text = "?", .options = {"a", "b"}}, R"(["a"])", false},
      {{.text = "?", .schema = R"({"type":"boolean"})"}, "true", true},
      {{.text = "?", .schema = R"({"type":"boolean"})"}, "1", false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(checked_answer(open_question(one.spec), one.value).has_value(), one.good) << one.value;
  }
}

TEST(QuestionRules, AClosedOneStaysAsItIs) {
  const Question done = must(answered(open_question(), "1", "anna", kNoon));
  EXPECT_EQ(code_of(answered(done, "2", "ben", kNoon)), ErrorCode::kWrongState);
  EXPECT_EQ(code_of(withdrawn(done, "ben", "", kNoon)), ErrorCode::kWrongState);
  EXPECT_FALSE(after_its_time(done, kNoon + kQuestionExpiresMax));
  EXPECT_FALSE(wake_at(done));
}

TEST(QuestionRules, WhatTimeBrings) {
  EXPECT_FALSE(after_its_time(open_question(), kNoon + kQuestionExpires - 1ms));
  const Question expired = after_its_time(open_question(), kNoon + kQuestionExpires).value();
  EXPECT_EQ(expired.state, QuestionState::kExpired);
  EXPECT_TRUE(is_unanswered(expired));
  EXPECT_EQ(event_name(open_question(), expired), "question.expired");
  const Question with_default =
      after_its_time(open_question({.text = "?", .default_answer = "1", .expires = 1h}), kNoon + 1h).value();
  EXPECT_EQ(with_default.answer, "1");
  EXPECT_EQ(with_default.answered_by, "expiry");
  EXPECT_FALSE(is_unanswered(with_default));
}

TEST(QuestionRules, ASilentSpawnerIsReplacedByPeople) {
  TaskRecord child = asker();
  child.task.parent_id = TaskId(TaskId::Bytes{9});
  const QuestionSpec spec = must(checked_question({.text = "?", .to = AskedOf::kSpawner}));
  const Question question = new_question(question_id(1), child, spec, SpawnerIs::kRunning, kNoon);
  EXPECT_EQ(question.spawner, child.task.parent_id);
  EXPECT_EQ(wake_at(question), kNoon + kSpawnerPatience);
  EXPECT_TRUE(check_spawner_may_answer(question, *child.task.parent_id));
  EXPECT_EQ(code_of(check_spawner_may_answer(question, child.task.id)), ErrorCode::kForbidden);
  const Question later = after_its_time(question, kNoon + kSpawnerPatience).value();
  EXPECT_EQ(later.to, AskedOf::kHuman);
  EXPECT_EQ(event_name(question, later), "question.handed_over");
  EXPECT_EQ(code_of(check_spawner_may_answer(later, *child.task.parent_id)), ErrorCode::kForbidden);
  EXPECT_EQ(new_question(question_id(1), child, spec, SpawnerIs::kAway, kNoon).to, AskedOf::kHuman);
}

TEST(QuestionRules, AnotherLifeOfTheTaskAsksAnew) {
  std::vector<QuestionRecord> asked{{open_question(), 1}};
  EXPECT_NE(find_asked(asker(), asked, asked[0].question.key), nullptr);
  EXPECT_EQ(find_asked(asker(), asked, "other"), nullptr);
  TaskRecord retried = asker();
  retried.first_generation = 3;
  EXPECT_EQ(find_asked(retried, asked, asked[0].question.key), nullptr);
  asked.assign(kQuestionsOfTaskMax, asked[0]);
  EXPECT_EQ(code_of(check_may_ask(asker(), asked)), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(check_may_ask(retried, asked));
}

TEST(QuestionRules, WhatATaskMakesOfIt) {
  using trigger::QuestionClosed;
  const DecisionContext context{.now = kNoon};
  const Step asks = must(decide(asker(), trigger::Ask{{.name = "question.asked"}}, context));
  EXPECT_EQ(asks.next.task.open_questions, 1);
  EXPECT_EQ(asks.next.asked, 1);
  EXPECT_EQ(asks.answer_waits, 0);
  EXPECT_EQ(asks.next.task.state, TaskState::kRunning);
  EXPECT_EQ(code_of(decide(asker(TaskState::kPending), trigger::Ask{}, context)), ErrorCode::kWrongState);

  TaskRecord blocked = asker(TaskState::kBlocked);
  blocked.task.open_questions = 2;
  blocked.unmet_parents = 2;
  const Step one = must(decide(blocked, QuestionClosed{QuestionClosed::Outcome::kMet, {}}, context));
  EXPECT_EQ(one.next.task.state, TaskState::kBlocked);
  EXPECT_EQ(one.answer_waits, 0);
  const Step both = must(decide(one.next, QuestionClosed{QuestionClosed::Outcome::kMet, {}}, context));
  EXPECT_EQ(both.next.task.state, TaskState::kPending);
  EXPECT_EQ(both.next.task.open_questions, 0);
  EXPECT_EQ(both.answer_waits, -1);
  EXPECT_EQ(both.events.back().name, "task.unblocked");
  const Step failed = must(decide(blocked, QuestionClosed{QuestionClosed::Outcome::kUnanswered, {}}, context));
  EXPECT_EQ(failed.next.task.state, TaskState::kFailed);
  EXPECT_EQ(failed.next.task.error->error_class, ErrorClass::kUnanswered);
  EXPECT_EQ(failed.next.task.open_questions, 0);
  EXPECT_EQ(failed.answer_waits, -1);
  const Step suspended = must(decide(asks.next, trigger::Suspend{}, context));
  EXPECT_EQ(suspended.next.task.state, TaskState::kBlocked);
  EXPECT_EQ(suspended.answer_waits, 1);
}

TEST(QuestionRules, InWords) {
  const Question question = open_question({.text = "Shall \"I\"?"});
  const std::string name = "question " + question.id.to_string() + ", asked ";
  EXPECT_EQ(in_words(question, kNoon - 1s), name + R"(0s ago: "Shall \"I\"?")");
  EXPECT_EQ(in_words(question, kNoon + 59'999ms), name + R"(59s ago: "Shall \"I\"?")");
  EXPECT_EQ(in_words(question, kNoon + 3h + 90s), name + R"(3h1m ago: "Shall \"I\"?")");
}

TEST(QuestionRules, TheEventThatClosesItTellsHowLongItWasOpen) {
  EXPECT_EQ(event_data(open_question()).find("waited_ms"), std::string::npos);
  const Question done = must(answered(open_question(), "1", "anna", kNoon + 5s));
  EXPECT_NE(event_data(done).find(R"("waited_ms":5000)"), std::string::npos) << event_data(done);
}

TEST(QuestionRules, AGateAsksPeople) {
  const Question question =
      new_gate_question(question_id(1), "all", "", must(checked_question({.text = "Raise?"})), kNoon);
  EXPECT_EQ(question.gate, "all");
  EXPECT_FALSE(question.task_id);
  EXPECT_EQ(question.to, AskedOf::kHuman);
}

TEST(QuestionJson, ComesBackAsItWas) {
  Question question = open_question({.text = "Shall \"I\"?\n", .options = {"a", "b"}, .default_answer = R"("b")"});
  question.spawner = asker().task.id;
  question.patient_until = kNoon;
  for (const Question& one :
       {question, must(answered(question, R"("a")", "anna", kNoon)),
        must(answered(open_question(), "null", "b", kNoon)), must(withdrawn(question, "ben", "moot", kNoon))}) {
    Question back;
    ASSERT_TRUE(read_json(to_json(one), back));
    EXPECT_EQ(back, one) << to_json(one);
  }
}

TEST(QuestionJson, ARequestSaysNothingElse) {
  QuestionSpec spec;
  EXPECT_TRUE(read_json(R"({"text":"?","expires":"1h","to":"spawner","default":1})", spec));
  EXPECT_EQ(spec.expires, 1h);
  EXPECT_EQ(spec.to, AskedOf::kSpawner);
  for (const std::string_view bad : {R"({})", R"({"text":1})", R"({"text":"?","to":"me"})", R"({"text":"?","x":1})",
                                     R"({"text":"?","expires":"soon"})"}) {
    QuestionSpec other;
    EXPECT_EQ(code_of(read_json(bad, other)), ErrorCode::kInvalidArgument) << bad;
  }
}

TEST(QuestionPages, EndWhereTheLimitIs) {
  std::vector<QuestionRecord> all;
  for (std::uint8_t i = 5; i > 0; --i) {
    Question question = open_question();
    question.id = question_id(i);
    question.owner = i == 3 ? "ben" : "anna";
    all.push_back({question, 1});
  }
  QuestionPager pager({.owner = "anna"}, 2, std::nullopt);
  pager.add(all);
  EXPECT_FALSE(pager.wants_more());
  const QuestionPage page = std::move(pager).take();
  EXPECT_EQ(page.questions.size(), 2U);
  EXPECT_EQ(page.cursor, question_id(4).to_string());
}

TEST(QuestionWords, AnAnswerIsATextUnlessTheSchemaSaysOtherwise) {
  EXPECT_EQ(answer_from_word(open_question(), "3"), R"("3")");
  EXPECT_EQ(answer_from_word(open_question({.text = "?", .schema = "{}"}), "3"), "3");
  EXPECT_EQ(answer_to_word(R"("yes")"), "yes");
  EXPECT_EQ(answer_to_word("[1]"), "[1]");
}

}  // namespace
}  // namespace drover::test
