// Tasks that ask: programs give way with exit code 75, people answer, and each answer reaches its task once.
#include <fmt/format.h>

#include <csignal>
#include <map>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr int kAskers = 100;
constexpr int kOthers = 10;
constexpr Millis kLong{300'000};
constexpr std::string_view kJob = R"sh(case "$(cat)" in
*plain*) echo '"plain"' ;;
*) answer=$({} ask 'Shall I?' --option yes --option no --wait 0s) || exit $?
   echo "\"$answer\"" ;;
esac
)sh";

class QuestionsTest : public E2eTest {
 protected:
  QuestionsTest() { sandbox.write_file("ask.sh", fmt::format(kJob, DROVER_BIN)); }

  [[nodiscard]] Arguments worker(const Arguments& more = {}) const {
    return work("ask", {"/bin/sh", sandbox.file("ask.sh")}, more);
  }
  void drain() const {
    const Outcome outcome = sandbox.drover(worker({"--until-empty", "--concurrency", "1"}), {}, kLong);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  void kill_tasks() const {
    for (const pid_t pid : sandbox.all_task_processes()) ::kill(pid, SIGKILL);
  }
  [[nodiscard]] std::vector<json::Value> questions(const Arguments& more = {}) const {
    Arguments arguments{"question", "list", "--json", "--limit", "1000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return *sandbox.must_json(arguments).as_array();
  }
};

TEST_F(QuestionsTest, HoldNothingWhileTheyAreOpenAndEachAnswerArrivesOnce) {
  std::string batch;
  for (int i = 0; i < kAskers; ++i)
    batch += R"({"type":"ask","payload":"ask","max_stalls":100,"max_attempts":100,"retry":"fixed:1ms"})"
             "\n";
  for (int i = 0; i < kOthers; ++i)
    batch += R"({"type":"ask","payload":"plain"})"
             "\n";
  sandbox.must({"enqueue", "--batch", "-"}, batch);
  drain();
  EXPECT_EQ(sandbox.must_json({"list", "--state", "completed", "--json"}).as_array()->size(), std::size_t{kOthers});
  EXPECT_TRUE(sandbox.all_task_processes().empty());
  const auto open = questions();
  ASSERT_EQ(open.size(), std::size_t{kAskers});
  const json::Value one = sandbox.show(at(open.front(), "task_id"));
  EXPECT_EQ(at(one, "state"), "blocked");
  EXPECT_EQ(at(one, "attempts"), "0");
  EXPECT_EQ(at(one, "worker_id"), "null");

  // While answers come in, everything is killed in turn: the worker, the shims with what they run, the server.
  auto killed = sandbox.start(worker({"--concurrency", "1"}));
  std::map<std::string, std::string> expected;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::string word = i % 2 == 0 ? "yes" : "no";
    sandbox.must({"question", "answer", at(open[i], "id"), word});
    expected[at(open[i], "task_id")] = word;
    if (i % 20 == 4) kill_tasks();
    if (i % 20 == 12) sandbox.kill_server();
    if (i % 20 == 19) {
      killed->signal(SIGKILL);
      killed = sandbox.start(worker({"--concurrency", "1"}));
    }
  }
  killed->signal(SIGTERM);
  EXPECT_TRUE(killed->wait(kHangs));
  drain();
  EXPECT_TRUE(questions().empty());
  EXPECT_EQ(questions({"--all"}).size(), std::size_t{kAskers});
  for (const auto& [id, word] : expected) {
    const json::Value task = sandbox.show(id);
    EXPECT_EQ(at(task, "state"), "completed") << id;
    EXPECT_EQ(at(task, "result"), word) << id;
    EXPECT_EQ(at(task, "suspends"), "1") << id;
  }
}

TEST_F(QuestionsTest, ThoseWhoAnswerAreToldWhatIsWrong) {
  const std::string id = sandbox.enqueue({"ask", "--payload", "\"ask\""});
  drain();
  const std::string question = at(questions().at(0), "id");
  EXPECT_TRUE(contains(at(sandbox.must_json({"explain", id, "--json"}), "text"), "an answer to question " + question));
  expect_refused(sandbox.drover({"question", "answer", question, "maybe"}), 1, "invalid_argument");
  EXPECT_EQ(at(sandbox.must_json({"question", "show", id, "--json"}), "id"), question) << "by its task";
  expect_refused(sandbox.drover({"question", "show", "01920f5e-7a3c-7def-8123-456789abcdef"}), 5, "not_found");
  const json::Value answered = sandbox.must_json({"question", "answer", question, "no", "--json"});
  EXPECT_EQ(at(answered, "answer"), "no");
  const Outcome again = sandbox.drover({"question", "answer", question, "yes"});
  expect_refused(again, 6, "wrong_state");
  EXPECT_TRUE(contains(again.err, "\"no\""));
  expect_refused(sandbox.drover({"ask", "Outside of a task?"}), 1, "invalid_argument");
}

TEST_F(QuestionsTest, EverybodyIsToldWhatATaskWaitsFor) {
  const std::string id = sandbox.enqueue({"ask", "--payload", "\"ask\""});
  drain();
  const std::string question = at(questions().at(0), "id");
  EXPECT_TRUE(contains(sandbox.must({"list"}), "waits for an answer to \"Shall I?\""));
  EXPECT_TRUE(contains(sandbox.must({"list"}), "question " + question));
  EXPECT_TRUE(contains(sandbox.must({"show", id}), "question " + question));
  EXPECT_TRUE(contains(sandbox.must({"explain", id}), "question\t\t"));
  EXPECT_TRUE(contains(sandbox.must({"stuck"}), "waits for an answer; the oldest is question " + question));
  const std::string top = sandbox.must({"top", "--once"});
  EXPECT_TRUE(contains(top, "1 open; 1 task waits for an answer"));
  EXPECT_TRUE(contains(top, "question " + question));
  EXPECT_TRUE(contains(sandbox.must({"transcript", id}), "? Shall I? (yes, no)"));
  sandbox.must({"question", "answer", question, "yes"});
  drain();
  EXPECT_TRUE(contains(sandbox.must({"transcript", id, "--run", "2"}), "? answered by "));
  EXPECT_EQ(at(sandbox.show(id), "open_questions"), "0");
}

TEST_F(QuestionsTest, AnAnswerThatComesWhileTheProgramWaitsIsPrinted) {
  sandbox.write_file("wait.sh", fmt::format("echo \"\\\"$({} ask 'Which?' --wait 60s)\\\"\"\n", DROVER_BIN));
  const std::string id = sandbox.enqueue({"ask", "--timeout", "5s"});
  EventStream events = sandbox.events();
  const auto process = sandbox.start(work("ask", {"/bin/sh", sandbox.file("wait.sh")}, {"--until-empty"}));
  ASSERT_TRUE(events.next("question.asked", id));
  sandbox.must({"question", "answer", at(questions().at(0), "id"), "main"});
  ASSERT_TRUE(events.next("task.completed", id));
  EXPECT_EQ(at(sandbox.show(id), "result"), "main");
  EXPECT_EQ(at(sandbox.show(id), "suspends"), "0");
  EXPECT_TRUE(process->wait(kHangs));
}

TEST_F(QuestionsTest, OneThatIsWithdrawnIsSaidToTheTask) {
  const std::string id = sandbox.enqueue({"ask", "--payload", "\"ask\"", "--max-attempts", "1"});
  drain();
  sandbox.must({"question", "withdraw", at(questions().at(0), "id"), "--reason", "moot"});
  drain();
  EXPECT_EQ(sandbox.state_of(id), "failed");
  EXPECT_TRUE(contains(sandbox.must({"logs", id}), "was withdrawn: moot"));
}

}  // namespace
}  // namespace drover::e2e
