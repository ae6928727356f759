// Every verb: what it prints for programs, and with which code it ends.
#include <sys/stat.h>

#include <algorithm>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr const char* kNoSuchTask = "01920f5e-7a3c-7def-8123-456789abcdef";

class CliTest : public E2eTest {
 protected:
  static std::vector<std::string> keys_of(const json::Value& object) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : *object.as_object()) keys.push_back(key);
    return keys;
  }
  static std::vector<std::string> ids_of(const json::Value& tasks) {
    std::vector<std::string> ids;
    for (const json::Value& task : *tasks.as_array()) ids.push_back(at(task, "id"));
    return ids;
  }
  std::string failed_task() {
    const std::string id = sandbox.enqueue({"doomed", "--max-attempts", "1"});
    work_until_empty("doomed", agentsim({"exit=3"}));
    return id;
  }
};

TEST_F(CliTest, TellsItsVersionAndHelps) {
  EXPECT_TRUE(contains(sandbox.must({"--version"}), "0."));
  EXPECT_TRUE(contains(sandbox.must({"--help"}), "enqueue"));
  EXPECT_TRUE(contains(sandbox.must({"help", "work"}), "--until-empty"));
  EXPECT_TRUE(contains(sandbox.must({"enqueue", "--help"}), "Examples:"));
}

TEST_F(CliTest, RefusesWhatItDoesNotUnderstand) {
  const std::vector<Arguments> mistakes{
      {"enqeue", "x"},
      {"enqueue"},
      {"enqueue", "x", "--wat"},
      {"enqueue", "no spaces"},
      {"enqueue", "x", "--priority", "12"},
      {"enqueue", "x", "--delay", "soon"},
      {"enqueue", "x", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"},
      {"enqueue", "x", "--retry", "sometimes"},
      {"enqueue", "x", "--timeout", "0s"},
      {"enqueue", "x", "--on-parent-failure", "cry"},
      {"enqueue", "x", "--batch", "-"},
      {"show", "1"},
      {"list", "--state", "lost"},
      {"list", "--limit", "0"},
      {"work", "--", "/bin/cat"},
      {"work", "--type", "x", "--lease", "1s", "--heartbeat", "900ms", "--", "/bin/cat"},
      {"config"},
      {"completion", "powershell"},
      {"progress", "101"}};
  for (const Arguments& mistake : mistakes) {
    const Outcome outcome = sandbox.drover(mistake);
    EXPECT_EQ(outcome.exit_code, 2) << mistake.back() << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
  EXPECT_FALSE(std::filesystem::exists(sandbox.store_path()));
}

TEST_F(CliTest, EnqueueAnswersWithTheTask) {
  const json::Value answer = sandbox.must_json({"enqueue", "greet", "--payload", "{}", "--json"});
  EXPECT_EQ(keys_of(answer), (std::vector<std::string>{"id", "state", "deduplicated"}));
  EXPECT_EQ(at(answer, "state"), "pending");
  EXPECT_EQ(at(answer, "deduplicated"), "false");
  EXPECT_EQ(sandbox.state_of(at(answer, "id")), "pending");
}

TEST_F(CliTest, EnqueueTakesTheBeginningOfAParentsId) {
  const std::string parent = sandbox.enqueue({"first"});
  const std::string child = sandbox.enqueue({"second", "--after", parent.substr(0, 30)});
  EXPECT_EQ(at(sandbox.show(child), "state"), "blocked");
  EXPECT_TRUE(contains(sandbox.must({"show", child, "--json"}), parent));
}

TEST_F(CliTest, ShowPrintsTheOneShapeOfATask) {
  const std::string id = sandbox.enqueue({"greet",
                                          "--payload",
                                          "{\"a\":1}",
                                          "--queue",
                                          "eng",
                                          "--owner",
                                          "ada",
                                          "--priority",
                                          "high",
                                          "--tag",
                                          "one",
                                          "--tag",
                                          "two",
                                          "--request-id",
                                          "r-1",
                                          "--delay",
                                          "1h",
                                          "--max-attempts",
                                          "7",
                                          "--retry",
                                          "fixed:30s",
                                          "--timeout",
                                          "5m",
                                          "--idle-timeout",
                                          "1m",
                                          "--deadline",
                                          "2h",
                                          "--fallback",
                                          "{\"late\":true}",
                                          "--at-most-once"});
  const json::Value task = sandbox.show(id);
  const std::vector<std::string> shape{"id",
                                       "type",
                                       "queue",
                                       "owner",
                                       "state",
                                       "priority",
                                       "payload",
                                       "prompt",
                                       "system_prompt",
                                       "model",
                                       "repo",
                                       "base",
                                       "agent_id",
                                       "source",
                                       "tags",
                                       "parent_id",
                                       "depends_on",
                                       "ref",
                                       "request_id",
                                       "dedupe_key",
                                       "locks",
                                       "session",
                                       "run_at",
                                       "created_at",
                                       "started_at",
                                       "finished_at",
                                       "run",
                                       "attempts",
                                       "max_attempts",
                                       "stalls",
                                       "defers",
                                       "suspends",
                                       "open_questions",
                                       "retry",
                                       "timeout_ms",
                                       "idle_timeout_ms",
                                       "deadline_at",
                                       "max_stalls",
                                       "max_defers",
                                       "max_suspends",
                                       "on_parent_failure",
                                       "at_most_once",
                                       "templates",
                                       "fallback_result",
                                       "bootstrap",
                                       "budget",
                                       "checkpoint",
                                       "generation",
                                       "dedupe",
                                       "gates",
                                       "cost",
                                       "progress",
                                       "worker_id",
                                       "cancel_requested_at",
                                       "result",
                                       "fallback",
                                       "error",
                                       "exit_code",
                                       "escalation",
                                       "usage",
                                       "cancel_reason",
                                       "agent",
                                       "next",
                                       "traceparent"};
  EXPECT_EQ(keys_of(task), shape);
  EXPECT_EQ(at(task, "id"), id);
  EXPECT_EQ(at(task, "type"), "greet");
  EXPECT_EQ(at(task, "queue"), "eng");
  EXPECT_EQ(at(task, "owner"), "ada");
  EXPECT_EQ(at(task, "state"), "scheduled");
  EXPECT_EQ(at(task, "priority"), "2");
  EXPECT_EQ(at(task, "payload"), "{\"a\":1}");
  EXPECT_EQ(at(task, "tags"), R"(["one","two"])");
  EXPECT_EQ(at(task, "request_id"), "r-1");
  EXPECT_EQ(at(task, "max_attempts"), "7");
  EXPECT_EQ(at(task, "retry"), "fixed:30s");
  EXPECT_EQ(at(task, "timeout_ms"), "300000");
  EXPECT_EQ(at(task, "idle_timeout_ms"), "60000");
  EXPECT_EQ(at(task, "at_most_once"), "true");
  EXPECT_EQ(at(task, "fallback_result"), "{\"late\":true}");
  EXPECT_EQ(at(task, "result"), "null");
  EXPECT_EQ(at(task, "created_at").size(), std::string("2026-11-15T19:50:37.123Z").size());
}

TEST_F(CliTest, ListFiltersAndPages) {
  const std::string a = sandbox.enqueue({"a", "--owner", "ada", "--tag", "red"});
  const std::string b = sandbox.enqueue({"b", "--owner", "bob", "--queue", "eng", "--delay", "1h"});
  const std::string c = sandbox.enqueue({"a", "--owner", "bob", "--tag", "red"});
  const auto list = [&](Arguments filter) {
    filter.insert(filter.begin(), {"list", "--json"});
    return ids_of(sandbox.must_json(filter));
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(list({}), (Ids{c, b, a}));
  EXPECT_EQ(list({"--type", "a"}), (Ids{c, a}));
  EXPECT_EQ(list({"--queue", "eng"}), (Ids{b}));
  EXPECT_EQ(list({"--owner", "bob"}), (Ids{c, b}));
  EXPECT_EQ(list({"--state", "scheduled,failed"}), (Ids{b}));
  EXPECT_EQ(list({"--tag", "red", "--owner", "ada"}), (Ids{a}));
  EXPECT_EQ(list({"--limit", "2"}), (Ids{c, b}));
  EXPECT_EQ(sandbox.must({"list", "-q", "--type", "b"}), b + "\n");

  const Outcome first = sandbox.drover({"list", "--limit", "2", "-q"});
  const std::size_t at_cursor = first.err.find("--cursor ");
  ASSERT_NE(at_cursor, std::string::npos) << first.err;
  const std::string cursor = first.err.substr(at_cursor + 9, first.err.find(' ', at_cursor + 9) - at_cursor - 9);
  EXPECT_EQ(list({"--cursor", cursor}), (Ids{a}));
  expect_refused(sandbox.drover({"list", "--cursor", "nonsense"}), 1, "invalid_argument");
}

TEST_F(CliTest, PipedTablesAreTabSeparated) {
  const std::string id = sandbox.enqueue({"greet"});
  const std::string line = sandbox.must({"list"});
  EXPECT_EQ(line.substr(0, line.find('\t')), id);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
}

TEST_F(CliTest, UnknownTasksAreNotFound) {
  sandbox.enqueue({"greet"});
  for (const Arguments& verb : std::vector<Arguments>{{"show", kNoSuchTask},
                                                      {"wait", kNoSuchTask},
                                                      {"logs", kNoSuchTask},
                                                      {"cancel", kNoSuchTask},
                                                      {"retry", kNoSuchTask}}) {
    expect_refused(sandbox.drover(verb), 5, "not_found");
  }
}

TEST_F(CliTest, WaitEndsWithTheTasksFate) {
  const std::string waiting = sandbox.enqueue({"greet"});
  const Outcome timed_out = sandbox.drover({"wait", waiting, "--timeout", "50ms"});
  EXPECT_EQ(timed_out.exit_code, 124);
  EXPECT_EQ(timed_out.out, "pending\n");

  const auto waiter = sandbox.start({"wait", waiting, "--json"});
  work_until_empty("greet", agentsim());
  EXPECT_EQ(waiter->wait(kHangs), (Exit{.code = 0}));
  const auto task = json::parse(waiter->read_rest(kHangs));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(at(*task, "state"), "completed");

  EXPECT_EQ(sandbox.drover({"wait", failed_task()}).exit_code, 10);
  const std::string cancelled = sandbox.enqueue({"greet"});
  sandbox.must({"cancel", cancelled});
  EXPECT_EQ(sandbox.drover({"wait", cancelled}).exit_code, 11);
}

TEST_F(CliTest, CancelEndsWhatWaitsWithItsDependents) {
  const std::string parent = sandbox.enqueue({"greet"});
  const std::string child = sandbox.enqueue({"greet", "--after", parent});
  const json::Value answer = sandbox.must_json({"cancel", parent, "--reason", "wrong branch", "--json"});
  EXPECT_EQ(keys_of(answer), (std::vector<std::string>{"id", "state", "cancelled", "requested"}));
  EXPECT_EQ(at(answer, "state"), "cancelled");
  EXPECT_EQ(at(answer, "cancelled"), "2");
  EXPECT_EQ(at(answer, "requested"), "0");
  EXPECT_EQ(at(sandbox.show(parent), "cancel_reason"), "wrong branch");
  EXPECT_EQ(sandbox.state_of(child), "cancelled");
  expect_refused(sandbox.drover({"cancel", parent}), 6, "wrong_state");
}

TEST_F(CliTest, RetryOpensTheNextGeneration) {
  const std::string id = failed_task();
  const json::Value again = sandbox.must_json({"retry", id, "--json"});
  EXPECT_EQ(at(again, "state"), "pending");
  EXPECT_EQ(at(again, "generation"), "2");
  EXPECT_EQ(at(again, "attempts"), "0");
  expect_refused(sandbox.drover({"retry", id}), 6, "wrong_state");
  work_until_empty("doomed", agentsim());
  EXPECT_EQ(sandbox.state_of(id), "completed");
  expect_refused(sandbox.drover({"retry", id}), 6, "wrong_state");
  const json::Value runs = sandbox.must_json({"show", id, "--runs", "--json"});
  ASSERT_EQ(runs.as_array()->size(), 2U);
  EXPECT_EQ(at(runs.as_array()->front(), "outcome"), "completed");
  EXPECT_EQ(at(runs.as_array()->back(), "outcome"), "failed");
}

TEST_F(CliTest, TheSameRequestGivesTheSameTask) {
  const json::Value first = sandbox.must_json({"enqueue", "greet", "--payload", "[1]", "--request-id", "r", "--json"});
  const json::Value second =
      sandbox.must_json({"enqueue", "greet", "--payload", " [ 1 ] ", "--request-id", "r", "--json"});
  EXPECT_EQ(at(second, "id"), at(first, "id"));
  EXPECT_EQ(at(second, "deduplicated"), "true");
  const std::string before = sandbox.dump();
  expect_refused(sandbox.drover({"enqueue", "greet", "--payload", "[2]", "--request-id", "r"}), 6, "request_conflict");
  EXPECT_EQ(sandbox.dump(), before);
}

TEST_F(CliTest, EventsTellWhatHappenedInOrder) {
  const std::string id = sandbox.enqueue({"greet"});
  work_until_empty("greet", agentsim());
  const std::string all = sandbox.must({"events", "--json", "--after", sandbox.events_before()});
  std::vector<std::string> names;
  std::int64_t last = 0;
  for (std::size_t at_line = 0; at_line < all.size();) {
    const std::size_t end = all.find('\n', at_line);
    const auto event = json::parse(std::string_view(all).substr(at_line, end - at_line));
    ASSERT_TRUE(event.has_value()) << all;
    EXPECT_EQ(at(*event, "task_id"), at(*event, "name") == "worker.gone" ? "null" : id);
    EXPECT_GT(event->find("seq")->as_int(), last);
    last = *event->find("seq")->as_int();
    names.push_back(at(*event, "name"));
    at_line = end + 1;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"task.enqueued", "task.claimed", "task.completed", "worker.gone"}));
  EXPECT_EQ(sandbox.must({"events", "--json", "--after", std::to_string(last)}), "");
  EXPECT_EQ(std::ranges::count(sandbox.must({"events", "--json", "--limit", "2"}), '\n'), 2);
}

TEST_F(CliTest, FollowedEventsComeAsTheyHappen) {
  const auto follower = sandbox.start({"events", "-f", "--json", "--after", sandbox.events_before()});
  const std::string id = sandbox.enqueue({"greet"});
  const auto line = follower->read_line(kHangs);
  ASSERT_TRUE(line.has_value());
  EXPECT_TRUE(contains(*line, "task.enqueued"));
  EXPECT_TRUE(contains(*line, id));
  follower->signal(SIGINT);
  EXPECT_EQ(follower->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(CliTest, WorkersAreListed) {
  EXPECT_EQ(sandbox.must({"worker", "list", "--json"}), "[]\n");
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"greet"});
  const auto worker = sandbox.start(work("greet", agentsim({"hang=true"}), {"--concurrency", "3"}));
  ASSERT_TRUE(events.next("task.claimed", id));
  const json::Value workers = sandbox.must_json({"worker", "list", "--json"});
  ASSERT_EQ(workers.as_array()->size(), 1U);
  const json::Value& info = workers.as_array()->front();
  EXPECT_TRUE(contains(at(info, "id"), ":" + std::to_string(worker->pid()) + ":"));
  EXPECT_EQ(at(info, "capacity"), "3");
  EXPECT_EQ(at(info, "serves"), R"([{"queue":"greet","type":"greet","trouble":""}])");
}

TEST_F(CliTest, AWorkerTellsWhatItDid) {
  sandbox.enqueue({"greet"});
  sandbox.enqueue({"greet"});
  const Outcome outcome = sandbox.drover(work("greet", agentsim(), {"--until-empty"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(contains(outcome.err, R"("message":"done")"));
  EXPECT_TRUE(contains(outcome.err, R"("completed":"2","failed":"0")"));
}

TEST_F(CliTest, AWorkerLogsAtTheLevelOfItsProject) {
  sandbox.write_file("drover.yaml", "local: {log: {level: error}}\n");
  EXPECT_EQ(sandbox.drover(work("greet", agentsim(), {"--until-empty"})).err, "");
  EXPECT_NE(sandbox.drover(work("greet", agentsim(), {"--until-empty", "--log-level", "info"})).err, "");
}

// Refused before anybody sees the worker.
TEST_F(CliTest, AWorkerWithALeaseThatIsTooShortDoesNotAppear) {
  sandbox.enqueue({"greet"});
  EXPECT_EQ(sandbox.drover({"work", "--type", "greet", "--lease", "50ms", "--", "/bin/cat"}).exit_code, 2);
  EXPECT_EQ(sandbox.must({"worker", "list", "--json"}), "[]\n");
}

TEST_F(CliTest, FsckFindsNothingInAHealthyStore) {
  sandbox.enqueue({"greet"});
  failed_task();
  const Outcome outcome = sandbox.drover({"fsck", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "[]\n");
}

TEST_F(CliTest, ConfigIsStoredAndShown) {
  EXPECT_EQ(at(sandbox.must_json({"config", "show", "--json"}), "version"), "0");
  sandbox.write_file("policy.yaml", "types:\n  build: {max_attempts: 9, queue: eng}\nlocal:\n  log: {level: info}\n");
  const json::Value applied = sandbox.must_json({"config", "apply", "policy.yaml", "--json"});
  EXPECT_EQ(at(applied, "version"), "1");
  EXPECT_EQ(at(applied, "changed"), "true");
  EXPECT_EQ(at(sandbox.must_json({"config", "apply", "policy.yaml", "--json"}), "changed"), "false");
  const json::Value shown = sandbox.must_json({"config", "show", "--json"});
  EXPECT_TRUE(contains(at(shown, "document"), "\"max_attempts\":9"));
  EXPECT_FALSE(contains(at(shown, "document"), "local"));
  const json::Value task = sandbox.show(sandbox.enqueue({"build"}));
  EXPECT_EQ(at(task, "max_attempts"), "9");
  EXPECT_EQ(at(task, "queue"), "eng");

  const std::string before = sandbox.dump();
  sandbox.write_file("policy.yaml", "types:\n  build: {max_attempts: 9, qeue: eng}\n");
  const Outcome refused = sandbox.drover({"config", "apply", "policy.yaml"});
  expect_refused(refused, 1, "invalid_config");
  EXPECT_TRUE(contains(refused.err, "policy.yaml:2"));
  expect_refused(sandbox.drover({"config", "apply", "-"}, "\n"), 1, "invalid_config");
  EXPECT_EQ(sandbox.dump(), before);
}

TEST_F(CliTest, CompletionsAreScripts) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_TRUE(contains(sandbox.must({"completion", shell}), "until-empty")) << shell;
  }
  sandbox.write_file("completion.bash", sandbox.must({"completion", "bash"}));
  const Outcome checked = run_to_end(
      {.argv = {"/bin/bash", "-n", "completion.bash"}, .environment = {}, .folder = sandbox.folder(), .input = {}},
      kHangs);
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST_F(CliTest, ProgressNeedsATask) {
  expect_refused(sandbox.drover({"progress", "10"}), 1, "invalid_argument");
}

TEST_F(CliTest, AnExportWritesIntoAPipeAndDoesNotReplaceIt) {
  const std::string id = sandbox.enqueue({"greet"});
  const std::string pipe = sandbox.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Outcome read = run_to_end({.argv = {"/bin/sh", "-c", DROVER_BIN " export pipe & cat pipe; wait $!"},
                                   .environment = sandbox.environment(),
                                   .folder = sandbox.folder(),
                                   .input = {}},
                                  kHangs);
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_TRUE(contains(read.out, id)) << read.out;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(std::filesystem::exists(pipe + ".part"));
}

TEST_F(CliTest, TheStoreIsFoundWhereItIsSaid) {
  sandbox.set("DROVER_STORE", "");
  const std::string in_state = sandbox.enqueue({"greet"});
  EXPECT_TRUE(std::filesystem::exists(sandbox.file("state/drover/drover.db")));
  std::filesystem::create_directory(sandbox.folder() / ".drover");
  const std::string in_project = sandbox.enqueue({"greet"});
  EXPECT_TRUE(std::filesystem::exists(sandbox.file(".drover/drover.db")));
  EXPECT_EQ(sandbox.must({"list", "-q"}), in_project + "\n");
  EXPECT_EQ(sandbox.must({"list", "-q", "--store", "sqlite:" + sandbox.file("state/drover/drover.db")}),
            in_state + "\n");
  expect_refused(sandbox.drover({"list", "--store", "mysql:x"}), 1, "invalid_argument");
}

TEST_F(CliTest, FilesAreForTheirOwnerOnly) {
  sandbox.enqueue({"greet"});
  using std::filesystem::perms;
  const auto mode = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions() & perms::mask;
  };
  const std::filesystem::path folder = std::filesystem::path(sandbox.store_path()).parent_path();
  EXPECT_EQ(mode(folder), perms::owner_all);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(mode(entry.path()), perms::owner_read | perms::owner_write) << entry.path();
  }
}

}  // namespace
}  // namespace drover::e2e
