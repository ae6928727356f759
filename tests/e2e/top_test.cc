// Top on a real terminal, which tmux gives it.
#include <algorithm>
#include <csignal>

#include "e2e/e2e_test.h"
#include "e2e/terminal.h"

namespace drover::e2e {
namespace {

class TopTest : public E2eTest {
 protected:
  // A terminal with a shell that shows top, and then waits.
  void open_terminal() {
    terminal_.emplace(sandbox, "echo before\n\"$DROVER\" top --interval 250ms\necho after $?\nread x\n");
    ASSERT_TRUE(await_screen("QUEUES"));
  }
  [[nodiscard]] std::string screen() const { return terminal_->screen(); }
  void press(const std::string& keys) const { terminal_->press(keys); }
  [[nodiscard]] testing::AssertionResult await_screen(std::string_view text) const { return terminal_->await(text); }

  std::optional<Terminal> terminal_;
};

TEST_F(TopTest, ShowsQueuesTasksAndWorkersAndTakesKeys) {
  const std::string id = sandbox.enqueue({"review", "--payload", R"({"sleep_ms":60000})"});
  const std::string waiting = sandbox.enqueue({"review"});
  const auto worker = sandbox.start(work("review", agentsim({"pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  open_terminal();
  ASSERT_TRUE(await_screen(id));
  for (const char* panel : {"QUEUES 1", "RUNNING 1", "WORKERS 1", "GATES 0", "ALERTS 0", "DEAD LETTERS 0"}) {
    EXPECT_TRUE(contains(screen(), panel));
  }

  press("p");
  EXPECT_TRUE(await_screen("queue:review is closed until opened"));
  EXPECT_TRUE(contains(sandbox.must({"queue", "list"}), "paused"));
  press("p");
  EXPECT_TRUE(await_screen("queue:review is open again"));
  EXPECT_FALSE(contains(sandbox.must({"queue", "list"}), "paused"));

  press("?");
  EXPECT_TRUE(await_screen("shift-tab"));
  press("q");
  press("Tab");
  press("Enter");
  EXPECT_TRUE(await_screen("log of task " + id));
  press("q");
  EXPECT_TRUE(await_screen("QUEUES 1"));
  press("c");
  EXPECT_TRUE(await_screen("cancel task " + id + "? y/n"));
  press("n");
  EXPECT_TRUE(await_screen("nothing was changed"));
  press("c");
  press("y");
  EXPECT_TRUE(await_screen("asked the task to stop"));
  EXPECT_EQ(sandbox.drover({"wait", id}).exit_code, 11);

  press("/");
  press("nosuch");
  EXPECT_TRUE(await_screen("QUEUES 0  /nosuch"));
  press("Escape");
  EXPECT_TRUE(await_screen("QUEUES 1"));
  press("q");
  EXPECT_TRUE(await_screen("after 0"));
  EXPECT_TRUE(contains(screen(), "before"));
  EXPECT_FALSE(contains(screen(), "QUEUES")) << "the screen is not given back";
  worker->signal(SIGTERM);
  EXPECT_TRUE(worker->wait(kHangs));
}

TEST_F(TopTest, GivesTheTerminalBackWhenItIsAskedToEnd) {
  open_terminal();
  ASSERT_EQ(::kill(terminal_->child(), SIGTERM), 0);
  EXPECT_TRUE(await_screen("after"));
  EXPECT_FALSE(contains(screen(), "QUEUES"));
}

TEST_F(TopTest, GivesTheTerminalBackWhenItIsKilled) {
  open_terminal();
  ASSERT_EQ(::kill(terminal_->child(), SIGQUIT), 0);
  EXPECT_TRUE(await_screen("after"));
  EXPECT_FALSE(contains(screen(), "QUEUES"));
}

TEST_F(TopTest, FitsANewSize) {
  open_terminal();
  terminal_->resize({.columns = 60, .rows = 15});
  EXPECT_TRUE(await_screen("l log  r ret\n"));
  const std::string small = screen();
  EXPECT_LE(std::ranges::count(small, '\n'), 15);
  press("q");
  EXPECT_TRUE(await_screen("after 0"));
}

TEST_F(TopTest, OnceIsAPictureWithoutATerminal) {
  static_cast<void>(sandbox.enqueue({"review"}));
  const std::string picture = sandbox.must({"top", "--once"});
  EXPECT_TRUE(contains(picture, "drover top  "));
  EXPECT_TRUE(contains(picture, "\nQUEUES\nQUEUE"));
  EXPECT_FALSE(contains(picture, "\x1b"));
  const Outcome refused = sandbox.drover({"top"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.err, "--once"));
}

}  // namespace
}  // namespace drover::e2e
