// A task talks back through its own door.
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class DoorTest : public E2eTest {};

TEST_F(DoorTest, ProgressCheckpointAndLogAreStored) {
  const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
  work_until_empty("work", agentsim({"progress=40", "message=half way", "checkpoint={\"page\":7}", "log=from the door",
                                     "print_err=to stderr", "print=\"to stdout\""}));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "progress"), R"({"percent":40,"message":"half way"})");
  EXPECT_EQ(at(task, "checkpoint"), R"({"page":7})");
  const std::string log = sandbox.must({"logs", id});
  EXPECT_TRUE(contains(log, "from the door\n"));
  EXPECT_TRUE(contains(log, "to stderr\n"));
  EXPECT_TRUE(contains(log, "\"to stdout\"\n"));
  EXPECT_TRUE(contains(sandbox.must({"events"}), "task.progressed"));
}

TEST_F(DoorTest, ProgressVerbSpeaksToTheDoor) {
  const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
  work_until_empty("work", {"/bin/sh", "-c", std::string(DROVER_BIN) + " progress 65 'running the tests'"});
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "completed") << sandbox.must({"logs", id});
  EXPECT_EQ(at(task, "progress"), R"({"percent":65,"message":"running the tests"})");
}

TEST_F(DoorTest, WhatTheRunSaysOfItsFailureWinsOverItsExit) {
  const std::string drover = DROVER_BIN;
  const auto task_after = [&](const std::string& script) {
    const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
    work_until_empty("work", {"/bin/sh", "-c", script});
    return sandbox.show(id);
  };
  const json::Value said = task_after(drover + " fail --class auth first && " + drover +
                                      " fail --class billing --note 'ask later' 'no money'; exit 3");
  EXPECT_EQ(at(said, "state"), "failed");
  EXPECT_EQ(at(*said.find("error"), "class"), "billing");
  EXPECT_EQ(at(*said.find("error"), "message"), "no money");
  EXPECT_EQ(at(said, "exit_code"), "3");
  const json::Value runs = sandbox.must_json({"show", at(said, "id"), "--runs", "--json"});
  EXPECT_EQ(at(runs.as_array()->front(), "note"), "ask later");

  const json::Value with_exit_0 = task_after(drover + " fail --class invalid; echo '\"done\"'");
  EXPECT_EQ(at(*with_exit_0.find("error"), "class"), "invalid");
  EXPECT_EQ(at(with_exit_0, "exit_code"), "0");
  const json::Value refused = task_after(drover + " fail --class deadline || exit 65");
  EXPECT_EQ(at(*refused.find("error"), "class"), "invalid") << "what was refused does not count";
}

TEST_F(DoorTest, ATaskWaitsAsLongAsItsRunWasTold) {
  const std::string id = sandbox.enqueue({"work"});
  work_until_empty("work", {"/bin/sh", "-c",
                            "if test -e seen; then echo 1; else touch seen; " + std::string(DROVER_BIN) +
                                " fail --class overloaded --retry-after 1ms; fi"});
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "completed");
  EXPECT_EQ(at(task, "attempts"), "1");
  EXPECT_EQ(at(task, "defers"), "1");
}

TEST_F(DoorTest, TheNextRunSeesWhatTheFirstOneLeft) {
  const std::string id = sandbox.enqueue({"work", "--retry", "fixed:1ms", "--payload", R"({"fail_first":1})"});
  work_until_empty("work", agentsim({"show_task=true", "checkpoint={\"page\":7}"}));
  const json::Value seen = *sandbox.show(id).find("result");
  EXPECT_EQ(at(seen, "checkpoint"), R"({"page":7})");
  EXPECT_EQ(at(seen, "id"), id);
  const json::Value* earlier = seen.find("earlier_runs");
  ASSERT_NE(earlier, nullptr);
  ASSERT_EQ(earlier->as_array()->size(), 1U);
  EXPECT_EQ(at(earlier->as_array()->front(), "outcome"), "retrying");
}

TEST_F(DoorTest, ChildrenBelongToTheirSpawner) {
  const std::string id = sandbox.enqueue({"work", "--owner", "ada"});
  work_until_empty("work", agentsim({"children=3", "child_type=child", "child_payload={\"n\":1}"}));
  EXPECT_EQ(sandbox.state_of(id), "completed");
  const json::Value children = sandbox.must_json({"list", "--spawner", id, "--json"});
  ASSERT_EQ(children.as_array()->size(), 3U);
  for (const json::Value& child : *children.as_array()) {
    EXPECT_EQ(at(child, "parent_id"), id);
    EXPECT_EQ(at(child, "owner"), "ada");
    EXPECT_EQ(at(child, "state"), "pending");
  }
}

TEST_F(DoorTest, CancelReachesChildren) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const auto worker =
      sandbox.start(work("work", agentsim({"children=2", "grandchild=" + sandbox.file("grandchild"), "hang=true"})));
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  sandbox.must({"cancel", id});
  ASSERT_TRUE(events.next("task.cancelled", id));
  const json::Value children = sandbox.must_json({"list", "--spawner", id, "--json"});
  ASSERT_EQ(children.as_array()->size(), 2U);
  for (const json::Value& child : *children.as_array()) EXPECT_EQ(at(child, "state"), "cancelled");
}

TEST_F(DoorTest, BadRequestsAreRefused) {
  const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
  work_until_empty("work", agentsim({"door=/v1/tasks", "door_body={\"type\":\"x\",\"parent_id\":\"me\"}"}));
  const json::Value task = sandbox.show(id);
  EXPECT_TRUE(contains(at(task, "result"), "invalid_argument")) << at(task, "result");
  EXPECT_EQ(sandbox.must_json({"list", "--json"}).as_array()->size(), 1U);
}

TEST_F(DoorTest, AnAgentIsPartOfItsEnqueuersTrace) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  sandbox.set("TRACEPARENT", trace);
  const std::string id = sandbox.enqueue({"work"});
  sandbox.set("TRACEPARENT", "");
  work_until_empty("work", agentsim({"print_env=true"}));
  EXPECT_TRUE(contains(sandbox.must({"logs", id}), "TRACEPARENT=" + trace));
}

TEST_F(DoorTest, NoSecretReachesTheAgent) {
  if (!sandbox.is_served()) sandbox.set("DROVER_TOKEN", "drv_secret");
  sandbox.set("AWS_SECRET_ACCESS_KEY", "hidden");
  const std::string id = sandbox.enqueue({"work"});
  work_until_empty("work", agentsim({"print_env=true"}));
  const std::string environment = sandbox.must({"logs", id});
  EXPECT_TRUE(contains(environment, "DROVER_TASK_ID=" + id));
  for (const char* name : {"DROVER_RUN=1", "DROVER_ATTEMPT=1", "DROVER_URL=unix:", "TRACEPARENT=", "HOME=", "PATH="}) {
    EXPECT_TRUE(contains(environment, name));
  }
  for (const char* hidden : {"drv_", "hidden", "DROVER_STORE", "XDG_STATE_HOME"}) {
    EXPECT_FALSE(contains(environment, hidden));
  }
}

}  // namespace
}  // namespace drover::e2e
