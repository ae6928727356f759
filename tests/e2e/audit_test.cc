// drover serve --audit-log: who changed what and who was refused, and a chain that shows what was done to it.
#include <csignal>
#include <fstream>
#include <sstream>

#include "e2e/serving.h"

namespace drover::e2e {
namespace {

class AuditTest : public ServingTest {
 protected:
  [[nodiscard]] std::vector<json::Value> records() const {
    std::vector<json::Value> all;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) all.push_back(*json::parse(line));
    return all;
  }
  static void stop(Process& server) {
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(kHangs), (Exit{.code = 0}));
  }

  const std::string path_ = sandbox.file("audit.log");
};

TEST_F(AuditTest, ChangesAndRefusalsAreKeptAndNothingElse) {
  const auto server = start_server({"--audit-log", path_});
  const std::string admin = create_token({"admin"});
  const std::string viewer = create_token({"viewer", "--owner", "anna"});
  use_server(admin);
  const std::string id = sandbox.enqueue({"greet", "--payload", R"("a secret")"});
  sandbox.must({"list"});
  sandbox.must({"cancel", id});
  use_server(viewer);
  expect_refused(sandbox.drover({"cancel", id}), 4, "forbidden");
  use_server("drv_abcdefgh_wrong");
  expect_refused(sandbox.drover({"list"}), 4, "unauthorised");
  stop(*server);

  const auto all = records();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(at(all[0], "method") + " " + at(all[0], "route"), "POST /v1/tasks");
  EXPECT_EQ(at(all[0], "status"), "201");
  EXPECT_EQ(at(all[0], "subject"), id);
  EXPECT_EQ(at(all[0], "role"), "admin");
  EXPECT_EQ(at(all[0], "token_id"), admin.substr(4, 8));
  EXPECT_EQ(at(all[0], "from"), "127.0.0.1");
  EXPECT_EQ(at(all[1], "route"), "/v1/tasks/{id}/cancel");
  EXPECT_EQ(at(all[1], "subject"), id);
  EXPECT_EQ(at(all[2], "status"), "403");
  EXPECT_EQ(at(all[2], "owner"), "anna");
  EXPECT_EQ(at(all[3], "status"), "401");
  EXPECT_EQ(at(all[3], "token_id"), "null");
  std::ifstream file(path_);
  std::ostringstream text;
  text << file.rdbuf();
  for (const std::string& secret : {std::string("a secret"), admin, viewer, std::string("wrong")}) {
    EXPECT_EQ(text.str().find(secret), std::string::npos) << secret;
  }
}

TEST_F(AuditTest, VerifyNamesTheLineThatWasChanged) {
  const auto server = start_server({"--audit-log", path_});
  use_server(create_token({"admin"}));
  sandbox.enqueue({"greet"});
  sandbox.enqueue({"greet"});
  stop(*server);
  const Outcome whole = sandbox.drover({"audit", "verify", path_});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_TRUE(whole.out.starts_with("2\t")) << whole.out;
  std::ifstream file(path_);
  std::string first;
  std::string second;
  std::getline(file, first);
  std::getline(file, second);
  sandbox.write_file("audit.log", second + "\n");
  const Outcome cut = sandbox.drover({"audit", "verify", path_});
  expect_refused(cut, 1, "store_damaged");
  EXPECT_TRUE(contains(cut.err, "line 1: it does not follow"));
}

}  // namespace
}  // namespace drover::e2e
