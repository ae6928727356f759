// Sessions of agents over several runs: resumed where the last run stopped, begun afresh when they are gone, billed
// once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "e2e/agent_fixture.h"

namespace drover::e2e {
namespace {

class AgentSessionTest : public AgentFixture {
 protected:
  static std::string usage_of(const json::Value& task, std::string_view name) { return at(*task.find("usage"), name); }
  static std::string agent_of(const json::Value& task, std::string_view name) { return at(*task.find("agent"), name); }
  [[nodiscard]] json::Value ledger(const std::string& by) const {
    return sandbox.must_json({"usage", "--by", by, "--json"});
  }
};

// Two replies, then three in a run that goes on with the session of the first. Gemini says what it used only at its
// end, which the first run did not reach; opencode when the next reply begins.
TEST_F(AgentSessionTest, AResumedSessionIsBilledOnce) {
  using Expected = std::pair<const char*, const char*>;
  for (const auto& [preset, output_tokens] :
       {Expected{"claude", "250"}, {"codex", "250"}, {"gemini", "150"}, {"opencode", "200"}}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task =
        after_work("do: tokens 1000 200 50\ndo: say One.\ndo: say Two.\ndo: fresh exit 1\ndo: resumed say Three.");
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "run"), "2") << preset;
    EXPECT_EQ(agent_of(task, "resumed"), "true") << preset;
    EXPECT_EQ(agent_of(task, "preset"), preset);
    EXPECT_EQ(usage_of(task, "output_tokens"), output_tokens) << preset;
  }
}

// Killed with everything, it goes on where it was.
TEST_F(AgentSessionTest, AKilledWorkersSessionIsResumed) {
  write_profile("preset: claude");
  EventStream events = sandbox.events();
  id_ = sandbox.enqueue({"fix", "--prompt", "do: tokens 100 0 10\ndo: say One.\ndo: fresh hang\ndo: say Two."});
  const auto worker = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  const auto is_reported = [&] { return at(sandbox.show(id_), "usage") != "null"; };
  const Millis end = mono_now() + kHangs;
  while (!is_reported() && mono_now() < end) {
  }
  ASSERT_TRUE(is_reported()) << "its session is stored while it runs";
  worker->signal(SIGKILL);
  const auto second = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  ASSERT_TRUE(events.next("task.completed", id_));
  const json::Value task = sandbox.show(id_);
  EXPECT_EQ(agent_of(task, "resumed"), "true");
  EXPECT_EQ(usage_of(task, "output_tokens"), "30") << "One, then One and Two";
  EXPECT_TRUE(sandbox.all_task_processes().empty());
}

// A run that is hit after so many replies: its agent, its shim or its worker, by each signal in turn.
struct Blow {
  int replies;
  enum class Victim : std::uint8_t { kAgent, kShim, kWorker } victim;
  int signal;
};

class Hit {
 public:
  Hit(const Sandbox& sandbox, Blow blow)
      : sandbox_(sandbox), blow_(blow), type_(fmt::format("p{}", blow.replies)), worker_(start_worker()) {
    std::string prompt = "do: tokens 100 0 10\n";
    for (int i = 0; i < blow.replies; ++i) prompt += fmt::format("do: fresh say {}\n", i);
    id_ = sandbox.enqueue({type_, "--prompt", prompt + "do: fresh hang\ndo: say Done.", "--retry", "fixed:1ms"});
  }

  // Its session, and what it has used, is in the store.
  [[nodiscard]] bool is_there() const {
    const json::Value task = sandbox_.show(id_);
    if (at(task, "agent") == "null" || at(*task.find("agent"), "session_id") == "null") return false;
    return at(*task.find("usage"), "output_tokens") == std::to_string(10 * blow_.replies);
  }
  void strike() {
    if (blow_.victim == Blow::Victim::kWorker) {
      const Millis end = mono_now() + kHangs;
      do worker_->signal(blow_.signal);  // the second one means: do not wait for what runs
      while (!worker_->wait(Millis{1'000}) && mono_now() < end);
      worker_ = start_worker();
      return;
    }
    signal_to(blow_.victim, blow_.signal);
  }
  // A shim does not mind INT and TERM.
  [[nodiscard]] bool is_survived() const { return blow_.victim == Blow::Victim::kShim && blow_.signal != SIGKILL; }
  void finish_off() const { signal_to(Blow::Victim::kAgent, SIGKILL); }
  [[nodiscard]] bool has_completed() const { return sandbox_.state_of(id_) == "completed"; }
  void expect_resumed_and_billed_once() const {
    const json::Value task = sandbox_.show(id_);
    EXPECT_EQ(at(task, "state"), "completed") << name() << at(task, "error") << worker_->errors();
    EXPECT_EQ(at(*task.find("agent"), "resumed"), "true") << name();
    EXPECT_EQ(at(*task.find("usage"), "output_tokens"), std::to_string(10 * blow_.replies + 10)) << name();
  }

 private:
  void signal_to(Blow::Victim victim, int signal) const {
    for (const pid_t pid : Sandbox::processes_of(id_)) {
      const std::string command = command_line_of(pid);
      const auto is = command.contains(" shim ") ? Blow::Victim::kShim : Blow::Victim::kAgent;
      if (is == victim && command.contains("--output-format")) ::kill(pid, signal);
    }
  }
  [[nodiscard]] std::unique_ptr<Process> start_worker() const {
    return sandbox_.start({"work", "--type", type_, "--preset", "claude", "--lease", "2s", "--heartbeat", "300ms"});
  }
  [[nodiscard]] std::string name() const {
    return fmt::format("signal {} to {} after {} replies: ", blow_.signal, std::to_underlying(blow_.victim),
                       blow_.replies);
  }

  const Sandbox& sandbox_;
  Blow blow_;
  std::string type_;
  std::unique_ptr<Process> worker_;
  std::string id_;
};

TEST_F(AgentSessionTest, ARunThatIsHitAnywhereIsResumedAndBilledOnce) {
  constexpr int kPoints = 20;
  constexpr int kTogether = 5;
  constexpr std::array kVictims{Blow::Victim::kAgent, Blow::Victim::kShim, Blow::Victim::kWorker};
  constexpr std::array kSignals{SIGINT, SIGTERM, SIGKILL};
  for (int first = 0; first < kPoints; first += kTogether) {
    std::vector<std::unique_ptr<Hit>> hits;
    for (int i = first; i < first + kTogether; ++i) {
      hits.push_back(std::make_unique<Hit>(
          sandbox, Blow{i, kVictims[static_cast<std::size_t>(i % 3)], kSignals[static_cast<std::size_t>(i / 3 % 3)]}));
    }
    const auto await = [&](const auto& holds) {
      const Millis end = mono_now() + 2 * kHangs;
      while (!std::ranges::all_of(hits, holds) && mono_now() < end) {
      }
    };
    await([](const auto& hit) { return hit->is_there(); });
    for (const auto& hit : hits) hit->strike();
    for (const auto& hit : hits) {
      if (hit->is_survived()) hit->finish_off();
    }
    await([](const auto& hit) { return hit->has_completed(); });
    for (const auto& hit : hits) hit->expect_resumed_and_billed_once();
  }
  EXPECT_TRUE(sandbox.all_task_processes().empty());
}

TEST_F(AgentSessionTest, ALostSessionIsBegunAfreshInTheSameAttempt) {
  for (const char* preset : {"claude", "codex", "gemini"}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task = after_work("do: in-run 1 run rm -rf $HOME/.fake_agent\ndo: in-run 1 exit 1\ndo: say Done.",
                                        {"--max-attempts", "2"});
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "attempts"), "2") << preset;
    EXPECT_EQ(agent_of(task, "resumed"), "false") << preset;
    const std::string runs = sandbox.must({"show", id_, "--runs", "--json"});
    EXPECT_TRUE(contains(runs, "session_lost")) << preset;
    EXPECT_TRUE(contains(runs, R"("change":{"session":"fresh"})")) << preset;
  }
}

TEST_F(AgentSessionTest, WhatWasUsedIsInTheLedger) {
  write_profile("preset: claude");
  after_work("do: tokens 1000 0 100\ndo: say Done.");
  const json::Value by_type = ledger("type,runner");
  const json::Value& row = by_type.find("rows")->as_array()->at(0);
  EXPECT_EQ(at(row, "type"), "fix");
  EXPECT_EQ(at(row, "runner"), "claude");
  EXPECT_EQ(at(row, "output_tokens"), "100");
  EXPECT_EQ(at(row, "runs"), "1");
  const json::Value by_class = ledger("class");
  EXPECT_EQ(json::dump(by_class), R"({"rows":[{"class":"completed","runs":1}]})") << "a class has no cost";
  EXPECT_EQ(sandbox.must({"usage", "--by", "class"}), "completed\t1\n");
  const json::Value by_model = ledger("model");
  EXPECT_EQ(by_model.find("rows")->as_array()->at(0).find("runs"), nullptr) << "a run may use several models";
  EXPECT_EQ(std::ranges::count(sandbox.must({"usage", "--by", "model"}), '\t'), 6);
  EXPECT_EQ(sandbox.drover({"usage", "--by", "moon"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"usage", "--from", "tomorrow"}).exit_code, 2);
  for (const char* model : {"", "-p"}) {
    const Outcome refused = sandbox.drover({"enqueue", "fix", "--prompt", "x", std::string("--model=") + model});
    EXPECT_EQ(refused.exit_code, 1) << model;
    EXPECT_TRUE(contains(refused.err, "model: ")) << refused.err;
  }
}

TEST_F(AgentSessionTest, EvidenceIsKeptWithTheRun) {
  write_profile("preset: claude, verify: {argv: [/bin/sh, -c, 'echo all 3 tests pass']}");
  after_work("do: say Done.");
  const std::string runs = sandbox.must({"show", id_, "--runs", "--json"});
  EXPECT_TRUE(contains(runs, R"("exit_code":0)"));
  EXPECT_TRUE(contains(runs, "all 3 tests pass"));
}

}  // namespace
}  // namespace drover::e2e
