// Ten thousand dead letters of twelve kinds, and an operator who decides on them with the real program.
#include <fmt/format.h>

#include <csignal>

#include "drover/open.h"
#include "e2e/e2e_test.h"
#include "support/must.h"
#include "support/wait.h"

namespace drover::e2e {
namespace {

using test::must;

constexpr int kTasks = 10'000;
constexpr int kKinds = 12;
constexpr int kBatch = 500;
constexpr Millis kBulkMax{120'000};

constexpr std::string_view kWords[kKinds] = {"alpha", "bravo", "carol", "delta", "echo",  "fox",
                                             "golf",  "hotel", "india", "jules", "kilos", "lima"};

// The first kind has more than the others.
int kind_of(int number) {
  return number % 5 == 0 ? 0 : number % kKinds;
}

class DeadLettersTest : public E2eTest {
 protected:
  void SetUp() override {
    queue_ = must(open_task_queue(sandbox.store_url(), Upkeep::kNone));
    fail_many();
    for (const ErrorGroup& group : must(queue_->error_groups({}))) groups_.push_back(group);
  }

  // As fast as a store takes them: no agent runs.
  void fail_many() {
    for (int from = 0; from < kTasks; from += kBatch) {
      std::vector<TaskSpec> specs;
      for (int i = from; i < from + kBatch; ++i) {
        specs.push_back({.type = "bulk", .payload = fmt::format(R"({{"n":{},"keep":0.10}})", i)});
      }
      ASSERT_EQ(must(queue_->enqueue(specs)).size(), specs.size());
      const auto claimed = must(queue_->claim(
          {.worker_id = "host:1:w", .serves = {{.queue = "bulk", .type = {}}}, .n = kBatch, .lease = Millis{60'000}}));
      ASSERT_EQ(claimed.size(), specs.size());
      std::vector<Settlement> ends;
      for (std::size_t i = 0; i < claimed.size(); ++i) {
        const int number = from + static_cast<int>(i);
        ends.push_back({claimed[i].lease, Failure{.error_class = ErrorClass::kInvalid,
                                                  .message = fmt::format("{} refused line {} of /srv/{}/in",
                                                                         kWords[kind_of(number)], number, number)}});
      }
      for (const auto& answer : queue_->settle(ends)) ASSERT_EQ(must(answer), TaskState::kFailed);
    }
  }

  std::int64_t left_in(const ErrorGroup& group) {
    const auto groups = must(queue_->error_groups({.fingerprint = group.fingerprint}));
    return groups.empty() ? 0 : groups.front().count;
  }

  int count_of(const TaskFilter& filter, const std::function<void(const Task&)>& look = [](const Task&) {}) {
    int count = 0;
    std::optional<std::string> cursor;
    do {
      const TaskPage page = must(queue_->list(filter, 1'000, cursor));
      for (const Task& task : page.tasks) look(task);
      count += static_cast<int>(page.tasks.size());
      cursor = page.cursor;
    } while (cursor);
    return count;
  }

  // Starts it, and sends the signal once some tasks are done. How it ended.
  Exit interrupt(const Arguments& arguments, const ErrorGroup& group, int signal, std::string* said = nullptr) {
    const auto process = sandbox.start(arguments);
    const std::int64_t before = left_in(group);
    EXPECT_TRUE(test::wait_for(*queue_, kHangs, [&] { return left_in(group) < before; }));
    process->signal(signal);
    const auto exit = process->wait(kHangs);
    if (said != nullptr) *said = process->errors();
    return exit.value_or(Exit{});
  }

  std::vector<Event> verdict_events(std::string_view name) {
    std::vector<Event> found;
    for (std::int64_t after = 0;;) {
      const auto events = must(queue_->events(after, 1'000));
      if (events.empty()) return found;
      for (const Event& event : events) {
        if (event.name == name) found.push_back(event);
      }
      after = events.back().seq;
    }
  }

  void expect_says_who_and_why(const std::vector<Event>& events, std::string_view why) {
    for (const Event& event : events) {
      const auto data = must(json::parse(event.data));
      ASSERT_NE(at(data, "by").find('@'), std::string::npos) << event.data;
      ASSERT_EQ(at(data, "why"), why);
    }
  }

  std::shared_ptr<TaskQueue> queue_;
  std::vector<ErrorGroup> groups_;  // the largest first
};

TEST_F(DeadLettersTest, TenThousandOfTwelveKindsGetTheirVerdicts) {
  ASSERT_EQ(groups_.size(), static_cast<std::size_t>(kKinds));
  const ErrorGroup& retried = groups_[0];
  const ErrorGroup& deleted = groups_[1];
  const ErrorGroup& waiting = groups_[2];
  const auto listed = sandbox.must_json({"dlq", "list", "--json"});
  ASSERT_EQ(listed.as_array()->size(), static_cast<std::size_t>(kKinds));
  EXPECT_EQ(at(listed.as_array()->front(), "pattern"), "alpha refused line <n> of <path>");

  // Nothing happens unasked.
  const Arguments retry{"dlq",           "retry",
                        "--fingerprint", retried.fingerprint,
                        "--patch",       R"({"fixed": true})",
                        "--reason",      "the input is fixed"};
  const Outcome unasked = sandbox.drover(retry);
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_TRUE(contains(unasked.err, fmt::format("this would retry {} tasks: add --yes", retried.count)));
  Arguments rehearsal = retry;
  rehearsal.emplace_back("--dry-run");
  EXPECT_TRUE(contains(sandbox.drover(rehearsal).err, fmt::format("would retry {} tasks", retried.count)));
  EXPECT_EQ(left_in(retried), retried.count);

  // Interrupted in the middle, twice: each is an operation of its own, which rests until somebody sweeps.
  Arguments really = retry;
  really.emplace_back("--yes");
  std::string said;
  EXPECT_EQ(interrupt(really, retried, SIGINT, &said), (Exit{.code = 130, .signal = {}})) << said;
  EXPECT_TRUE(contains(said, "`drover bulk wait "));
  EXPECT_GT(left_in(retried), 0);
  EXPECT_EQ(interrupt(really, retried, SIGKILL), (Exit{.code = {}, .signal = SIGKILL}));
  EXPECT_GT(left_in(retried), 0);
  const Outcome rest = sandbox.drover(really, {}, kBulkMax);
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(left_in(retried), 0);
  int wrong = 0;
  const int pending = count_of({.states = {TaskState::kPending}}, [&](const Task& task) {
    const bool patched = task.payload && task.payload->ends_with(R"("keep":0.10,"fixed":true})");
    if (task.generation != 2 || !patched) ++wrong;
  });
  EXPECT_EQ(pending, retried.count);
  EXPECT_EQ(wrong, 0) << "each was retried once, with its own payload edited";

  const Outcome removal = sandbox.drover(
      {"dlq", "delete", "--fingerprint", deleted.fingerprint, "--yes", "--reason", "noise"}, {}, kBulkMax);
  EXPECT_EQ(removal.exit_code, 0) << removal.err;
  EXPECT_TRUE(contains(removal.err, fmt::format("deleted {} tasks", deleted.count)));
  const Outcome wait = sandbox.drover(
      {"dlq", "wait", "--fingerprint", waiting.fingerprint, "--for", "1h", "--yes", "--reason", "quota", "--json"}, {},
      kBulkMax);
  EXPECT_TRUE(wait.out.starts_with(fmt::format(
      R"({{"state":"completed","done":{},"skipped":0,"failed":0,"problems":[],"bulk_id":")", waiting.count)))
      << wait.out;
  EXPECT_EQ(count_of({.states = {TaskState::kScheduled}}), waiting.count);
  EXPECT_EQ(count_of({}), kTasks - deleted.count);
  EXPECT_EQ(must(queue_->error_groups({})).size(), static_cast<std::size_t>(kKinds - 3));

  const auto deletions = verdict_events("task.deleted");
  EXPECT_EQ(std::ssize(deletions), deleted.count);
  expect_says_who_and_why(deletions, "noise");
  std::vector<Event> retries = verdict_events("task.retried");
  EXPECT_EQ(std::ssize(retries), retried.count + waiting.count);
  const auto edited = [](const Event& event) { return event.data.find(R"("edited":true)") != std::string::npos; };
  const auto waits = std::ranges::partition(retries, edited);
  EXPECT_EQ(std::ssize(waits), waiting.count);
  expect_says_who_and_why({retries.begin(), waits.begin()}, "the input is fixed");
  expect_says_who_and_why({waits.begin(), waits.end()}, "quota");
  EXPECT_EQ(sandbox.drover({"fsck"}, {}, kBulkMax).exit_code, 0);
}

class DlqTest : public E2eTest {
 protected:
  std::string dead_letter(const std::string& script = "echo no such file 17 >&2; exit 65") {
    const std::string id = sandbox.enqueue({"work", "--payload", R"({"file":"a"})"});
    work_until_empty("work", {"/bin/sh", "-c", script});
    return id;
  }
  json::Value task(const std::string& id) { return sandbox.show(id); }
  std::string print_of(const std::string& id) { return at(*task(id).find("error"), "fingerprint"); }
};

TEST_F(DlqTest, ShowsEveryRunWithTheEndOfItsOutput) {
  const std::string id = sandbox.enqueue({"work", "--max-attempts", "2", "--retry", "fixed:10ms"});
  work_until_empty("work", {"/bin/sh", "-c", "echo run $DROVER_RUN; exit 3"});
  const auto shown = sandbox.must_json({"dlq", "show", id, "--json"});
  EXPECT_EQ(at(*shown.find("task"), "state"), "failed");
  const auto& runs = *shown.find("runs")->as_array();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(at(runs[0], "output_tail"), "run 2\n");
  EXPECT_EQ(at(runs[1], "output_tail"), "run 1\n");
  EXPECT_EQ(at(*runs[1].find("error"), "class"), "agent_error");
  EXPECT_TRUE(contains(at(runs[1], "worker_id"), ":"));
  EXPECT_TRUE(contains(sandbox.must({"dlq", "show", id}), "fingerprint"));
}

TEST_F(DlqTest, ShowsAKindWithItsNewestTasks) {
  const std::string first = dead_letter();
  const std::string second = dead_letter("echo no such file 18 >&2; exit 65");
  const std::string print = print_of(first);
  const auto shown = sandbox.must_json({"dlq", "show", print, "--json"});
  EXPECT_EQ(at(*shown.find("group"), "count"), "2");
  EXPECT_EQ(at(shown.find("tasks")->as_array()->at(0), "id"), second);
  EXPECT_TRUE(contains(sandbox.must({"dlq", "list"}), print + "\tinvalid\t2\t0\t"));
  EXPECT_TRUE(contains(sandbox.must({"dlq", "list", "--tasks"}), first + "\twork\twork\tdefault\t"));
  EXPECT_EQ(sandbox.must({"list", "--fingerprint", print, "-q"}), second + "\n" + first + "\n");
  EXPECT_EQ(sandbox.must({"list", "--class", "auth", "-q"}), "");
  expect_refused(sandbox.drover({"dlq", "show", "000000000000"}), 5, "not_found");
}

TEST_F(DlqTest, VerdictsByIdNeedNoYes) {
  const std::string id = dead_letter();
  EXPECT_EQ(sandbox.drover({"dlq", "escalate", id, "--to", "ada", "--reason", "look"}).exit_code, 0);
  EXPECT_EQ(at(*task(id).find("escalation"), "to"), "ada");
  const Outcome retried = sandbox.drover({"dlq", "retry", id, "--payload", R"({"file": "b"})", "--json"});
  EXPECT_EQ(retried.out,
            "{\"state\":\"completed\",\"done\":1,\"skipped\":0,\"failed\":0,\"problems\":[],\"bulk_id\":null}\n");
  EXPECT_TRUE(contains(retried.err, "retried 1 task\n"));
  EXPECT_EQ(at(task(id), "payload"), R"({"file":"b"})");
  EXPECT_EQ(at(task(id), "escalation"), "null");
  const Outcome again = sandbox.drover({"dlq", "retry", id});
  EXPECT_EQ(again.exit_code, 6);
  EXPECT_TRUE(contains(again.err, "1 task was left as it was: ")) << again.err;
}

TEST_F(DlqTest, ARefusedVerdictHasItsStableCode) {
  const std::string id = sandbox.enqueue({"work"});
  const std::string other = sandbox.enqueue({"work"});
  const std::string nobody = "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d";
  const std::vector<Arguments> verdicts{{"retry"}, {"delete"}, {"wait", "--for", "1h"}, {"escalate", "--to", "ada"}};
  for (const Arguments& verdict : verdicts) {
    Arguments words{"dlq"};
    words.insert(words.end(), verdict.begin(), verdict.end());
    Arguments unknown = words;
    unknown.insert(unknown.end(), {id, nobody});
    expect_refused(sandbox.drover(unknown), 5, "not_found");
    words.insert(words.end(), {id, other});
    const Outcome text = sandbox.drover(words);
    EXPECT_EQ(text.exit_code, 6);
    EXPECT_TRUE(contains(text.err, "(wrong_state)")) << text.err;
    words.emplace_back("--json");
    const json::Value told = must(json::parse(sandbox.drover(words).out));
    EXPECT_EQ(at(told, "skipped"), "2");
    const auto& problems = *told.find("problems")->as_array();
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(at(problems[0], "id"), id);
    EXPECT_EQ(at(problems[0], "code"), "wrong_state");
  }
}

TEST_F(DlqTest, EscalatingByFilterTakesThoseThatNobodyHas) {
  const std::string first = dead_letter();
  EXPECT_TRUE(contains(sandbox.drover({"dlq", "escalate", "--all", "--to", "ada", "--yes"}).err, "escalated 1 task"));
  dead_letter();
  EXPECT_TRUE(contains(sandbox.drover({"dlq", "escalate", "--all", "--to", "bob", "--yes"}).err, "escalated 1 task"));
  EXPECT_EQ(at(*task(first).find("escalation"), "to"), "ada");
  EXPECT_TRUE(contains(sandbox.must({"dlq", "list", "--escalated", "yes"}), "\tinvalid\t2\t2\t"));
}

TEST_F(DlqTest, WhatCannotBeDoneStopsNothingElse) {
  const std::string good = dead_letter();
  const std::string pending = sandbox.enqueue({"other"});
  const Outcome outcome = sandbox.drover({"dlq", "delete", pending, good});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_TRUE(contains(outcome.err, "deleted 1 task\n"));
  EXPECT_TRUE(contains(outcome.err, "is pending: delete does not apply"));
  EXPECT_EQ(sandbox.drover({"show", good}).exit_code, 5);
}

TEST_F(DlqTest, NeedsToKnowWhich) {
  EXPECT_EQ(sandbox.drover({"dlq", "retry"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"dlq", "retry", "--all", "--payload", "1", "--patch", "{}"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"dlq", "wait", "--all"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"dlq", "escalate", "--all"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"dlq", "list", "--fingerprint", "x"}).exit_code, 2);
  const Outcome none = sandbox.drover({"dlq", "delete", "--all"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_TRUE(contains(none.err, "deleted 0 tasks"));
}

}  // namespace
}  // namespace drover::e2e
