// Top on a real terminal, which tmux gives it.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class TopTest : public E2eTest {
 protected:
  void TearDown() override {
    static_cast<void>(tmux({"kill-server"}));
    E2eTest::TearDown();
  }

  // A terminal with a shell that shows top, and then waits.
  void open_terminal() {
    sandbox.write_file("session.sh", "echo before\n\"$DROVER\" top --interval 250ms\necho after $?\nread x\n");
    const Outcome started = tmux({"-f", "/dev/null", "new-session", "-d", "-x", "130", "-y", "45", "sh session.sh"});
    ASSERT_EQ(started.exit_code, 0) << started.err << " (./dev test installs tmux)";
    ASSERT_TRUE(await_screen("QUEUES"));
  }
  [[nodiscard]] Outcome tmux(Arguments arguments) const {
    Command command{.argv = {"/usr/bin/tmux", "-S", sandbox.file("tmux")},
                    .environment = {},
                    .folder = sandbox.folder(),
                    .input = {}};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = sandbox.environment();
    command.environment.push_back("DROVER=" DROVER_BIN);
    command.environment.push_back("TERM=xterm-256color");
    return run_to_end(command, kHangs);
  }
  [[nodiscard]] std::string screen() const { return tmux({"capture-pane", "-p"}).out; }
  void press(const std::string& keys) const { static_cast<void>(tmux({"send-keys", keys})); }
  // The only child of the shell in the terminal.
  [[nodiscard]] pid_t pid_of_top() const {
    std::string shell = tmux({"display-message", "-p", "#{pane_pid}"}).out;
    shell.erase(shell.find('\n'));
    std::ifstream children("/proc/" + shell + "/task/" + shell + "/children");
    pid_t pid = -1;
    children >> pid;
    return pid;
  }
  // The picture in the docs has the lines of a real screen: the same words, in the same order.
  static void expect_shape_of_docs(const std::string& screen) {
    std::ifstream in(DROVER_SOURCE_DIR "/docs/operate/health.md");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const std::size_t from = page.find("```text\n");
    ASSERT_NE(from, std::string::npos);
    const std::string picture = page.substr(from, page.find("```", from + 3) - from);
    for (const std::string& text : {picture, screen}) {
      std::size_t at = 0;
      for (const char* line :
           {"drover top  ", "\ntasks      ", "\nlast 1m    ", "\np50 / p95  wait ", "\nworkers    ", "\ncompleted  ",
            "\n▶ QUEUES 1\nQUEUE   STATE  WAITING  OLDEST  RUNNING  FAILED  WORKERS  IN/MIN  OUT/MIN  WAIT P50/P95",
            "\n  RUNNING 1\nTASK ", "\n  WORKERS 1\nWORKER ", "\n  GATES 0\n", "  ALERTS 0\n", "  DEAD LETTERS 0\n",
            "tab panel  s sort  / filter  p pause"}) {
        const std::size_t found = text.find(line, at);
        EXPECT_NE(found, std::string::npos) << line << " is missing in:\n" << text;
        if (found != std::string::npos) at = found;
      }
    }
  }
  // Looks until the screen has that text.
  [[nodiscard]] testing::AssertionResult await_screen(std::string_view text) const {
    std::string seen;
    for (const Millis end = mono_now() + kHangs; mono_now() < end;) {
      seen = screen();
      if (seen.contains(text)) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "no \"" << text << "\" on the screen:\n" << seen;
  }
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

  expect_shape_of_docs(screen());

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
  EXPECT_TRUE(await_screen("nothing was done"));
  press("c");
  press("y");
  EXPECT_TRUE(await_screen("cancel was requested"));
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
  ASSERT_EQ(::kill(pid_of_top(), SIGTERM), 0);
  EXPECT_TRUE(await_screen("after"));
  EXPECT_FALSE(contains(screen(), "QUEUES"));
}

TEST_F(TopTest, GivesTheTerminalBackWhenItIsKilled) {
  open_terminal();
  ASSERT_EQ(::kill(pid_of_top(), SIGQUIT), 0);
  EXPECT_TRUE(await_screen("after"));
  EXPECT_FALSE(contains(screen(), "QUEUES"));
}

TEST_F(TopTest, FitsANewSize) {
  open_terminal();
  static_cast<void>(tmux({"resize-window", "-x", "60", "-y", "15"}));
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
