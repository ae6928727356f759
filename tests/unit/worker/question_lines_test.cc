// What a run asks and hears stands in its transcript, each once.
#include "worker/question_lines.h"

#include <gtest/gtest.h>

#include "core/transcript.h"
#include "unit/worker/fake_queue.h"

namespace drover::test {
namespace {

using namespace std::chrono_literals;

const Time kNoon{Millis{1'800'000'000'000}};

Question asked() {
  return {.task_id = numbered_task(1).task.id, .text = "Shall I?", .options = {"yes", "no"}, .asked_at = kNoon};
}

Question closed_as(QuestionState state) {
  Question question = asked();
  question.state = state;
  question.closed_at = kNoon + 1h;
  return question;
}

std::string line(const std::string& text, const std::string& rest) {
  return R"({"kind":"question","text":")" + text + R"(","question_id":")" + asked().id.to_string() + R"(","state":)" +
         rest + "}\n";
}

const std::string kAsked = line("Shall I? (yes, no)", R"("open","to":"human")");

TEST(QuestionLines, TellTheQuestionAndItsAnswerOnce) {
  QuestionLines lines;
  EXPECT_EQ(lines.hear(asked()), kAsked);
  EXPECT_EQ(lines.hear(asked()), "");
  Question answered = closed_as(QuestionState::kAnswered);
  answered.answer = R"("yes")";
  answered.answered_by = "anna";
  EXPECT_EQ(lines.hear(answered), line("answered by anna: yes", R"("answered","answer":"yes","by":"anna")"));
  EXPECT_EQ(lines.hear(answered), "");
}

TEST(QuestionLines, SayHowElseItWasClosed) {
  EXPECT_EQ(QuestionLines().hear(closed_as(QuestionState::kExpired)),
            kAsked + line("expired: nobody answered in time", R"("expired")"));
  Question withdrawn = closed_as(QuestionState::kWithdrawn);
  EXPECT_EQ(QuestionLines().hear(withdrawn), kAsked + line("withdrawn", R"("withdrawn")"));
  withdrawn.answered_by = "ben";
  withdrawn.why = "moot";
  EXPECT_EQ(QuestionLines().hear(withdrawn), kAsked + line("withdrawn by ben: moot", R"("withdrawn","by":"ben")"));
  Question answered = closed_as(QuestionState::kAnswered);
  answered.answer = "3";
  EXPECT_EQ(QuestionLines().hear(answered), kAsked + line("answered by somebody: 3", R"("answered","answer":3)"));
}

TEST(QuestionLines, ARunIsToldAtItsStartWhatWasClosedSinceTheLastOne) {
  ClaimedTask claimed = numbered_task(1);
  Question answered = closed_as(QuestionState::kAnswered);
  answered.answer = "true";
  claimed.questions = {answered};
  EXPECT_EQ(QuestionLines().hear_at_start(claimed), "") << "the first run has asked nothing";
  claimed.earlier_runs = {{.run = 1, .ended_at = kNoon + 30min}};
  QuestionLines lines;
  EXPECT_EQ(lines.hear_at_start(claimed), kAsked + line("answered by somebody: true", R"("answered","answer":true)"));
  EXPECT_EQ(lines.hear(answered), "") << "it asks again, by its key";
  claimed.earlier_runs = {{.run = 2, .ended_at = kNoon + 2h}, {.run = 1, .ended_at = kNoon + 30min}};
  EXPECT_EQ(QuestionLines().hear_at_start(claimed), "") << "run 2 was told";
}

}  // namespace
}  // namespace drover::test
