// What questions cost: nothing for tasks that never asked, and a look at who waits costs the same whatever waits.
#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class QuestionReads : public EngineTest {
 protected:
  template <class Call>
  int reads_of_questions(Call call) {
    const int before = faults_.calls(StoreCall::kQuestions);
    call();
    return faults_.calls(StoreCall::kQuestions) - before;
  }
  void suspend(const Lease& lease) {
    EXPECT_EQ(must(engine_.suspend(lease, {.children = std::vector<TaskId>{}})), TaskState::kBlocked);
  }
  void add_askers(int count) {
    for (int i = 0; i < count; ++i) {
      const Lease lease = start_work();
      must(engine_.ask(lease, {.text = "Shall I?"}));
      suspend(lease);
    }
  }
};

TEST_F(QuestionReads, AClaimReadsThoseOfATaskThatAskedAndOfNoOther) {
  const Lease first = start_work();
  must(engine_.release(first));
  Lease second;
  EXPECT_EQ(reads_of_questions([&] { second = claim(1).at(0).lease; }), 0);
  const Question question = must(engine_.ask(second, {.text = "Shall I?"}));
  must(engine_.answer(question.id, {.value = "1"}));
  must(engine_.release(second));
  std::vector<ClaimedTask> third;
  EXPECT_EQ(reads_of_questions([&] { third = claim(1); }), 1);
  ASSERT_EQ(third.at(0).questions.size(), 1U);
  EXPECT_EQ(third[0].questions[0].answer, "1");
}

TEST_F(QuestionReads, ALookAtWhoWaitsCostsTheSameWhateverWaits) {
  add_askers(1);
  const auto look = [&] { must(engine_.stuck(std::nullopt)); };
  const int few = reads_of_questions(look);
  add_askers(300);
  EXPECT_EQ(reads_of_questions(look), few);
  EXPECT_EQ(must(engine_.stuck(std::nullopt)).groups.front().tasks, 301);
}

}  // namespace
}  // namespace drover::test
