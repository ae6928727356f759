// The screens in docs/pictures: made from a real terminal, and made again here to see that they are true.
// DROVER_UPDATE_CAPTURES=1 writes them anew.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

#include "e2e/e2e_test.h"
#include "e2e/screen_svg.h"
#include "e2e/terminal.h"
#include "engine/open.h"
#include "support/must.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

constexpr TerminalSize kScreen{.columns = 110, .rows = 34};

constexpr std::string_view kPolicy = R"(types:
  review: {queue: eng}
  translate: {queue: text, max_attempts: 1}
  report: {queue: text}
queues:
  eng: {permits: 2}
)";

// What is another at every look: ids, times, lengths of time, versions, ports, who and where; and with them the spaces
// that fill a column.
std::string without_chance(std::string text) {
  const std::pair<std::regex, const char*> rules[] = {
      {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"},
      {std::regex("[^ >]+:\\d+:ID"), "WORKER"},
      {std::regex("\\d{4}-\\d{2}-\\d{2}T[0-9:.]+Z"), "TIME"},
      {std::regex("\\d{4}-\\d{2}-\\d{2}"), "DAY"},
      {std::regex("127\\.0\\.0\\.1:\\d+"), "SERVER"},
      {std::regex("\\d+\\.\\d+\\.\\d+"), "VERSION"},
      {std::regex("\\d+ ms"), "DURATION"},
      {std::regex("(\\d+(ms|s|m|h))+\\b"), "DURATION"},
      {std::regex("[^ >]+@[^ :]+"), "SOMEBODY"},
      {std::regex("completed  [^<]*  "), "completed  SPARKS  "},
      {std::regex("<rect class=\"behind\"[^>]*>"), ""},
      {std::regex(" +"), " "},
  };
  for (const auto& [pattern, name] : rules) text = std::regex_replace(text, pattern, name);
  return text;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ScreensTest : public E2eTest {
 protected:
  ScreensTest() {
    sandbox.set("DROVER_STORE", server_.tcp_url());
    sandbox.write_file("policy.yaml", kPolicy);
    sandbox.must({"config", "apply", "policy.yaml"});
  }

  // One of everything: dead letters of two kinds, a closed queue, a full gate, and tasks in most states.
  void set_scene() {
    for (const char* error : {"cannot open 'drafts/one.md'", "cannot open 'drafts/two.md'"}) {
      sandbox.enqueue({"translate", "--payload", R"({"print_err":")" + std::string(error) + R"(","exit":3})"});
    }
    sandbox.enqueue({"translate", "--payload", R"({"signal":9})"});
    sandbox.enqueue({"report"});
    const Outcome worked = sandbox.drover({"work", "--queue", "text", "--until-empty", "--", AGENTSIM_BIN});
    ASSERT_EQ(worked.exit_code, 0) << worked.err;

    running_ = {enqueue_running(60, "reading the tests"), enqueue_running(20, "cloning")};
    worker_ = sandbox.start({"work", "--queue", "eng", "--concurrency", "3", "--", AGENTSIM_BIN});
    for (const std::string& id : running_) ASSERT_TRUE(sandbox.events().next("task.progressed", id));
    waiting_ = sandbox.enqueue({"review", "--owner", "ada"});
    sandbox.enqueue({"review", "--after", waiting_});
    sandbox.enqueue({"review", "--delay", "2h"});
    sandbox.must({"queue", "pause", "text", "--reason", "the glossary changes"});
    sandbox.enqueue({"translate", "--owner", "bob"});
    const auto opened = test::must(open_queue(server_.tcp_url()));
    EXPECT_GT(test::must(Sweepers(opened->engine()).watch_health()), 0);
  }

  [[nodiscard]] std::string enqueue_running(int percent, const std::string& what) const {
    return sandbox.enqueue(
        {"review", "--payload", fmt::format(R"({{"progress":{},"message":"{}","sleep_ms":600000}})", percent, what)});
  }

  // What somebody sees who types that.
  void expect_picture(const std::string& name, const std::string& verb) {
    const Terminal terminal(
        sandbox, "echo '$ drover " + verb + "'\n\"$DROVER\" " + verb + "\nprintf 'the\\040end\\n'\nread x\n", kScreen);
    ASSERT_TRUE(terminal.await("the end"));
    const std::string painted = terminal.painted_screen();
    expect_same(name, painted.substr(0, painted.find("the end")));
  }
  static void expect_same(const std::string& name, const std::string& painted) {
    const std::string made = svg_of_screen(painted, kScreen.columns);
    const std::string file = DROVER_SOURCE_DIR "/docs/pictures/" + name + ".svg";
    if (std::getenv("DROVER_UPDATE_CAPTURES") != nullptr) std::ofstream(file, std::ios::binary) << made;
    EXPECT_EQ(without_chance(made), without_chance(text_of(file)))
        << file << " is not what drover shows; DROVER_UPDATE_CAPTURES=1 writes it anew";
  }

  const test::RedisServer server_{{.appendonly = true, .appendfsync = "everysec"}};
  std::vector<std::string> running_;
  std::string waiting_;
  std::unique_ptr<Process> worker_;
};

TEST_F(ScreensTest, AreAsInTheDocs) {
  ASSERT_NO_FATAL_FAILURE(set_scene());
  expect_picture("list", "list");
  expect_picture("explain", "explain " + waiting_);
  expect_picture("dlq-list", "dlq list");
  expect_picture("doctor", "doctor");
  {
    const Terminal terminal(sandbox, "\"$DROVER\" top\n", kScreen);
    ASSERT_TRUE(terminal.await("DEAD LETTERS 3"));
    expect_same("top", terminal.painted_screen());
  }
  for (const std::string& id : running_) sandbox.must({"cancel", id});
  worker_->signal(SIGTERM);
  EXPECT_TRUE(worker_->wait(kHangs));
}

// What docs/guide/one-evening.md is about, when it is late: the budget is used up, and two questions are open.
TEST_F(ScreensTest, OfAnEveningIsAsInTheDocs) {
  sandbox.write_file("policy.yaml", R"(types:
  fix: {budget_per_run: {usd: 0.5}}
owners:
  default: {budgets: [{usd: 10, per: day, on_breach: ask}]}
)");
  sandbox.must({"config", "apply", "policy.yaml"});
  const auto opened = test::must(open_queue(server_.tcp_url()));
  Engine& engine = opened->engine();
  test::must(engine.enqueue(std::vector<TaskSpec>(24, {.type = "fix"})));
  const auto claim = [&](int n) {
    return test::must(engine.claim({.worker_id = "here:1:w", .serves = {{"fix", "fix"}}, .n = n, .capacity = n}));
  };
  const Lease asking = claim(1).at(0).lease;
  test::must(engine.ask(asking, {.text = "May I publish 3?", .options = {"yes", "no"}}));
  test::must(engine.suspend(asking, {}));
  for (auto claimed = claim(24); !claimed.empty(); claimed = claim(24)) {
    for (const ClaimedTask& one : claimed) {
      const RunReport paid{.usage = Usage{.turns = 1, .cost = 500'000, .basis = CostBasis::kReported}};
      const Settlement end{.lease = one.lease, .end = Completion{}, .report = paid};
      test::must(std::move(engine.settle(std::span(&end, 1)).at(0)));
    }
  }
  const auto worker = sandbox.start({"work", "--type", "fix", "--concurrency", "4", "--", AGENTSIM_BIN});
  const Terminal terminal(sandbox, "\"$DROVER\" top\n", kScreen);
  ASSERT_TRUE(terminal.await("1 working"));
  test::must(Sweepers(engine).watch_health());
  ASSERT_TRUE(terminal.await("ALERTS 1"));
  expect_same("top-evening", terminal.painted_screen());
  worker->signal(SIGTERM);
  EXPECT_TRUE(worker->wait(kHangs));
}

}  // namespace
}  // namespace drover::e2e
