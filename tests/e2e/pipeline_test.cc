// A pipeline of four types, out of shell scripts and the command line: plan, twenty parts, join, review.
#include <fmt/format.h>

#include <csignal>
#include <map>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr int kParts = 20;

class PipelineTest : public E2eTest {
 protected:
  PipelineTest() {
    sandbox.write_file("plan.sh", fmt::format(R"(set -e
if [ "$DROVER_SUSPENDS" = 0 ]; then
  for page in $(seq {1}); do
    echo "{{\"type\":\"part\",\"max_stalls\":100,\"payload\":{{\"page\":$page}},\"request_id\":\"$DROVER_TASK_ID.$page\"}}"
  done | {0} enqueue --child --batch - > /dev/null
  exec {0} wait --children
fi
echo "{{\"parts\": $({0} parents | grep -c '"state":"completed"')}}"
)",
                                              DROVER_BIN, kParts));
    sandbox.write_file("part.sh", "grep -o '[0-9]*'\n");
    sandbox.write_file("join.sh", fmt::format("{} parents plan\n", DROVER_BIN));
    sandbox.write_file("review.sh", "cat\n");
  }

  std::vector<std::string> enqueue_pipeline() {
    const std::string ids = sandbox.must({"enqueue", "--batch", "-"},
                                         R"({"ref":"plan","type":"plan","max_stalls":100}
{"ref":"join","type":"join","depends_on":["@plan"],"max_stalls":100}
{"type":"review","depends_on":["@join"],"templates":true,"prompt":"{{parents.join.result.parts}} parts","max_stalls":100}
)");
    std::vector<std::string> found;
    for (std::size_t at = 0; at < ids.size(); at = ids.find('\n', at) + 1) {
      found.push_back(ids.substr(at, ids.find('\n', at) - at));
    }
    return found;
  }
  Arguments worker(std::string_view type) const {
    return work(type, {"/bin/sh", sandbox.file(fmt::format("{}.sh", type))});
  }
  void run_until_empty(std::string_view type) {
    work_until_empty(type, {"/bin/sh", sandbox.file(fmt::format("{}.sh", type))});
  }
};

TEST_F(PipelineTest, GoesThroughAllItsStages) {
  const auto ids = enqueue_pipeline();
  run_until_empty("plan");
  json::Value plan = sandbox.show(ids[0]);
  EXPECT_EQ(at(plan, "state"), "blocked");
  EXPECT_EQ(at(plan, "suspends"), "1");
  EXPECT_EQ(at(plan, "attempts"), "0");
  EXPECT_EQ(plan.find("depends_on")->as_array()->size(), static_cast<std::size_t>(kParts));
  EXPECT_EQ(at(sandbox.must_json({"explain", ids[0], "--json"}), "text"), "it waits for 20 of 20 children");
  for (const char* type : {"part", "plan", "join", "review"}) run_until_empty(type);
  EXPECT_EQ(at(sandbox.show(ids[0]), "result"), R"({"parts":20})");
  EXPECT_EQ(at(sandbox.show(ids[1]), "result"), R"({"parts":20})");
  EXPECT_EQ(at(sandbox.show(ids[2]), "result"), "20 parts");
}

TEST_F(PipelineTest, ARunThatWaitsAndThenFailsHasFailed) {
  sandbox.write_file("bad.sh", fmt::format("{0} enqueue part --child && {0} wait --children && exit 65\n", DROVER_BIN));
  const std::string id = sandbox.enqueue({"bad"});
  work_until_empty("bad", {"/bin/sh", sandbox.file("bad.sh")});
  EXPECT_EQ(sandbox.state_of(id), "failed");
  EXPECT_EQ(at(sandbox.show(id), "suspends"), "0");
}

TEST_F(PipelineTest, SaysWhatItCannotWaitFor) {
  sandbox.write_file("bad.sh", fmt::format("{} wait --children $DROVER_TASK_ID\n", DROVER_BIN));
  const std::string id = sandbox.enqueue({"bad", "--max-attempts", "1"});
  work_until_empty("bad", {"/bin/sh", sandbox.file("bad.sh")});
  EXPECT_TRUE(contains(sandbox.must({"logs", id}), "is not a child of this task (unknown_parent)"));
  expect_refused(sandbox.drover({"wait", "--children"}), 1, "invalid_argument");
  expect_refused(sandbox.drover({"parents"}), 1, "invalid_argument");
  expect_refused(sandbox.drover({"enqueue", "part", "--child"}), 1, "invalid_argument");
}

TEST_F(PipelineTest, ATemplateThatCannotBeFilledFailsTheTask) {
  const std::string parent = sandbox.enqueue({"part", "--ref", "first", "--payload", "{\"page\": 7}"});
  const std::string id =
      sandbox.enqueue({"review", "--after", parent, "--templates", "--prompt", "{{parents.first.result.title}}"});
  run_until_empty("part");
  run_until_empty("review");
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(*task.find("error"), "class"), "invalid_payload");
  EXPECT_TRUE(contains(at(*task.find("error"), "message"), "{{parents.first.result.title}}"));
}

// Whoever claims something is killed, twice for each task, while the others go on.
TEST_F(PipelineTest, SurvivesWorkersThatAreKilled) {
  constexpr int kKillsMax = 16;
  constexpr Millis kBound{120'000};
  const auto follower = sandbox.start({"events", "-f", "--after", "0", "--json"});
  const auto ids = enqueue_pipeline();
  std::map<pid_t, std::pair<std::string, std::unique_ptr<Process>>> workers;
  const auto start = [&](const std::string& type) {
    auto process = sandbox.start(worker(type));
    const pid_t pid = process->pid();
    workers.insert_or_assign(pid, std::pair(type, std::move(process)));
  };
  for (const char* type : {"plan", "part", "part", "part", "join", "review"}) start(type);

  int kills = 0;
  std::map<std::string, int> completed;
  const Millis end = mono_now() + kBound;
  while (completed[ids[2]] == 0) {
    const auto line = follower->read_line(end - mono_now());
    ASSERT_TRUE(line) << "the pipeline has not ended";
    const json::Value event = json::parse(*line).value();
    if (at(event, "name") == "task.completed") ++completed[at(event, "task_id")];
    if (at(event, "name") != "task.claimed" || kills >= kKillsMax || std::stoi(at(event, "run")) > 2) continue;
    const std::string worker_id = at(*event.find("data"), "worker_id");
    const std::size_t colon = worker_id.find(':');
    const auto found = workers.find(std::stoi(worker_id.substr(colon + 1)));
    if (found == workers.end()) continue;
    const std::string type = found->second.first;
    found->second.second->signal(SIGKILL);
    workers.erase(found);
    start(type);
    ++kills;
  }
  EXPECT_EQ(kills, kKillsMax);
  EXPECT_EQ(completed.size(), static_cast<std::size_t>(kParts) + 3);
  for (const auto& [id, times] : completed) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(at(sandbox.show(ids[2]), "result"), "20 parts");
  for (auto& [pid, worker] : workers) worker.second->signal(SIGTERM);
  for (auto& [pid, worker] : workers) EXPECT_TRUE(worker.second->wait(kHangs));
}

}  // namespace
}  // namespace drover::e2e
