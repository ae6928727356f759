// drover serve: the same commands and workers over HTTP, and a server that dies.
#include <csignal>

#include "e2e/serving.h"

namespace drover::e2e {
namespace {

class ServeTest : public ServingTest {};

TEST_F(ServeTest, CommandsAndWorkersWorkThroughIt) {
  const auto server = start_server();
  use_server(create_token({"admin"}));
  const std::string id = sandbox.enqueue({"greet", "--payload", R"({"n":1.0})"});
  work_until_empty("greet", agentsim({"print=hello"}));
  EXPECT_EQ(sandbox.state_of(id), "completed");
  EXPECT_EQ(at(sandbox.show(id), "payload"), R"({"n":1.0})");
  EXPECT_EQ(sandbox.must({"list", "-o", "name"}), id + "\n");
  EXPECT_TRUE(contains(sandbox.must({"logs", id}), "hello"));
  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(ServeTest, RunWaitsThroughIt) {
  const auto server = start_server();
  use_server(create_token({"admin"}));
  const auto worker = sandbox.start(work("greet", agentsim({"print=hello"})));
  const Outcome outcome = sandbox.drover({"run", "greet"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "hello\n");
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(ServeTest, WhoShowsNoTokenIsNotLetIn) {
  const auto server = start_server();
  const std::string viewer = create_token({"viewer", "--owner", "anna"});
  use_server("");
  expect_refused(sandbox.drover({"list"}), 4, "unauthorised");
  sandbox.set("DROVER_TOKEN", viewer);
  EXPECT_EQ(sandbox.drover({"list"}).exit_code, 0);
  expect_refused(sandbox.drover({"enqueue", "greet"}), 4, "forbidden");
  sandbox.set("DROVER_TOKEN", "");
  sandbox.write_file("token", viewer + "\n");
  EXPECT_EQ(sandbox.drover({"--token-file", sandbox.file("token"), "list"}).exit_code, 0);
}

TEST_F(ServeTest, ARevokedTokenIsOfNoUse) {
  const auto server = start_server();
  const std::string token = create_token({"operator"});
  use_server(token);
  EXPECT_EQ(sandbox.drover({"list"}).exit_code, 0);
  sandbox.set("DROVER_STORE", sandbox.store_url());
  sandbox.must({"token", "revoke", token});
  use_server(token);
  const Millis end = mono_now() + kHangs;
  while (sandbox.drover({"list"}).exit_code == 0 && mono_now() < end) {
  }
  expect_refused(sandbox.drover({"list"}), 4, "unauthorised");
}

TEST_F(ServeTest, WhoWaitsIsToldThatItsTokenIsOfNoUseAnyMore) {
  const auto server = start_server();
  const std::string id = sandbox.enqueue({"greet"});
  const std::string token = create_token({"operator"});
  use_server(token);
  const auto waiting = sandbox.start({"wait", id});
  const auto following = sandbox.start({"events", "-f"});
  sandbox.set("DROVER_STORE", sandbox.store_url());
  sandbox.must({"token", "revoke", token.substr(4, 8)});
  EXPECT_EQ(waiting->wait(kHangs), (Exit{.code = 4})) << waiting->errors();
  EXPECT_EQ(following->wait(kHangs), (Exit{.code = 4})) << following->errors();
}

TEST_F(ServeTest, AFileInTheWayOfASocketIsKept) {
  sandbox.write_file("precious", "data");
  expect_refused(sandbox.drover({"serve", "--listen", "unix:" + sandbox.file("precious")}), 1, "invalid_argument");
  EXPECT_TRUE(std::filesystem::is_regular_file(sandbox.file("precious")));
}

TEST_F(ServeTest, WhatNeedsTheStoreItselfSaysSo) {
  const auto server = start_server();
  use_server(create_token({"admin"}));
  expect_refused(sandbox.drover({"serve", "--listen", "127.0.0.1:0"}), 1, "invalid_argument");
}

TEST_F(ServeTest, AServerThatIsAwayForAMomentStopsNoWorker) {
  auto server = start_server();
  use_server(create_token({"admin"}));
  const auto worker = sandbox.start(work("greet", agentsim({"print=hello"})));
  EXPECT_EQ(sandbox.drover({"run", "greet"}).exit_code, 0);
  server->signal(SIGKILL);
  static_cast<void>(server->wait(kHangs));
  server = start_server();
  sandbox.set("DROVER_STORE", url());
  EXPECT_EQ(sandbox.drover({"run", "greet"}).exit_code, 0) << worker->errors();
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
}

}  // namespace
}  // namespace drover::e2e
