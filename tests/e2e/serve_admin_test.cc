// What an administrator does from elsewhere: the same commands, over a server.
#include "e2e/serving.h"

namespace drover::e2e {
namespace {

using ServeAdminTest = ServingTest;

TEST_F(ServeAdminTest, TokensAreMadeAndRevokedOverTheServer) {
  const std::string admin = create_token({"admin"});
  const auto server = start_server({"--audit-log", sandbox.file("audit.log")});
  use_server(admin);
  std::string producer = sandbox.must({"token", "create", "--role", "producer", "--owner", "ada", "--expires", "1h"});
  producer.pop_back();
  EXPECT_EQ(sandbox.must({"token", "list", "-o", "name"}), producer.substr(4, 8) + "\n" + admin.substr(4, 8) + "\n");
  EXPECT_TRUE(contains(sandbox.must({"complete", "token"}), producer.substr(4, 8)));

  use_server(producer);
  static_cast<void>(sandbox.enqueue({"work"}));
  expect_refused(sandbox.drover({"token", "list"}), 4, "forbidden");
  expect_refused(sandbox.drover({"token", "create", "--role", "admin"}), 4, "forbidden");
  expect_refused(sandbox.drover({"store", "accept-regression"}), 4, "forbidden");

  use_server(admin);
  EXPECT_EQ(at(sandbox.must_json({"token", "revoke", producer, "--json"}), "id"), producer.substr(4, 8));
  const json::Value listed = sandbox.must_json({"token", "list", "--json"});
  EXPECT_NE(at(listed.as_array()->at(0), "revoked_at"), "null");
  EXPECT_FALSE(contains(server->errors(), producer.substr(13)));
}

TEST_F(ServeAdminTest, WhoMayNotHearsThat) {
  const std::string viewer = create_token({"viewer"});
  const auto server = start_server();
  use_server(viewer);
  expect_refused(sandbox.drover({"top", "--once"}), 4, "forbidden");
  for (const char* verdict : {"retry", "delete", "escalate"}) {
    Arguments all{"dlq", verdict, "--all", "--yes"};
    if (std::string_view(verdict) == "escalate") all.insert(all.end(), {"--to", "ada"});
    expect_refused(sandbox.drover(all), 4, "forbidden");
  }
  EXPECT_EQ(sandbox.drover({"dlq", "retry", "--all", "--dry-run"}).exit_code, 0) << "it may look";
  use_server(viewer + "\r\nX-Owner: ada");
  expect_refused(sandbox.drover({"list"}), 1, "invalid_argument");
}

TEST_F(ServeAdminTest, TheStoreIsShownAndItsLossAccepted) {
  const std::string admin = create_token({"admin"});
  const std::string operating = create_token({"operator"});
  const auto server = start_server();
  const std::string here = sandbox.must({"store", "show", "--json"});
  use_server(operating);
  EXPECT_EQ(sandbox.must({"store", "show", "--json"}), here);
  use_server(admin);
  const Outcome accepted = sandbox.drover({"store", "accept-regression"});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_TRUE(contains(accepted.err, "a new epoch has begun"));
  EXPECT_FALSE(contains(server->errors(), "was lost")) << "nothing was";
}

// All but the first line, which has the time.
std::string without_header(const std::string& dump) {
  return dump.substr(dump.find('\n') + 1);
}

TEST_F(ServeAdminTest, AStoreIsExportedAndImportedOverServers) {
  const std::string admin = create_token({"admin"});
  const auto server = start_server();
  for (const char* name : {"a", "b", "c"})
    static_cast<void>(sandbox.enqueue({"work", "--payload", R"({"n":1})", "--tag", name}));
  work_until_empty("work", agentsim());
  const std::string here = sandbox.must({"export", "-"});
  use_server(admin);
  const std::string there = sandbox.must({"export", "-"});
  EXPECT_EQ(without_header(there), without_header(here));

  const std::string copy = "sqlite:" + sandbox.file("copy.db");
  sandbox.set("DROVER_STORE", copy);
  std::string other_admin = sandbox.must({"token", "create", "--role", "admin"});
  other_admin.pop_back();
  const auto other = sandbox.start({"serve", "--listen", "127.0.0.1:0"});
  use_server("http://" + address_of(*other), other_admin);
  const Outcome imported = sandbox.drover({"import", "-"}, there);
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_TRUE(contains(imported.err, "imported 3 tasks"));
  EXPECT_EQ(sandbox.must({"list", "--json"}), [&] {
    use_server(admin);
    return sandbox.must({"list", "--json"});
  }());
  use_server("http://" + address_of(*other), other_admin);
  expect_refused(sandbox.drover({"import", "-"}, there), 6, "wrong_state");
}

TEST_F(ServeAdminTest, LokiFilesGoInAndOutOverTheServer) {
  const std::string producer = create_token({"producer"});
  const auto server = start_server();
  use_server(producer);
  std::filesystem::create_directories(sandbox.file("queue"));
  sandbox.write_file(
      "queue/pending.json",
      R"([{"id":"t1","type":"eng","payload":{}},{"id":"t2","type":"qa","payload":{},"dependencies":["t1"]}])");
  EXPECT_TRUE(contains(sandbox.drover({"import", "--loki", "queue"}).err, "imported 2 tasks; 0 were there already"));
  EXPECT_TRUE(contains(sandbox.drover({"import", "--loki", "queue"}).err, "imported 0 tasks; 2 were there already"));
  EXPECT_TRUE(contains(sandbox.drover({"export", "--loki", "queue"}).err, "exported 2 tasks"));
}

TEST_F(ServeAdminTest, AFolderWithoutLokiFilesIsRefused) {
  std::filesystem::create_directories(sandbox.file(".loki/queue"));
  sandbox.write_file(".loki/queue/notes.txt", "no queue");
  const std::string before = sandbox.dump();
  for (const std::string folder : {".loki", ".loki/queue"}) {
    expect_refused(sandbox.drover({"import", "--loki", folder}), 1, "invalid_argument");
  }
  EXPECT_TRUE(contains(sandbox.drover({"import", "--loki", ".loki"}).err, "pending.json"));
  EXPECT_EQ(sandbox.dump(), before);
  sandbox.write_file(".loki/queue/completed.json", "[]");
  EXPECT_TRUE(contains(sandbox.drover({"import", "--loki", ".loki/queue"}).err, "imported 0 tasks"));
}

TEST_F(ServeAdminTest, DoctorSeesTheServerAndThroughIt) {
  const std::string operating = create_token({"operator"});
  const std::string viewer = create_token({"viewer"});
  auto server = start_server();
  use_server(operating);
  const Outcome well = sandbox.drover({"doctor"});
  EXPECT_EQ(well.exit_code, 0) << well.out;
  for (const char* check : {"server", "transport", "token", "server_version", "opens", "answers", "clock", "losses",
                            "version", "not_served"}) {
    EXPECT_TRUE(contains(well.out, std::string("ok\t") + check + "\t")) << check;
  }
  EXPECT_FALSE(contains(well.out, "disk")) << "the server's disk is not seen from here";

  use_server(viewer);
  const Outcome seen = sandbox.drover({"doctor"});
  EXPECT_EQ(seen.exit_code, 0) << seen.out;
  EXPECT_TRUE(contains(seen.out, "warn\tlosses\t\tnot checked"));
  EXPECT_TRUE(contains(seen.out, "warn\tfleet\t\tnot checked"));

  use_server("drv_00000000_0000000000000000000000000000000000000000000");
  const Outcome unknown = sandbox.drover({"doctor"});
  EXPECT_EQ(unknown.exit_code, 1) << unknown.out;
  EXPECT_TRUE(contains(unknown.out, "fail\ttoken\t"));

  use_server(operating);
  server->signal(SIGKILL);
  static_cast<void>(server->wait(kHangs));
  const Outcome gone = sandbox.drover({"doctor"});
  EXPECT_EQ(gone.exit_code, 1) << gone.out;
  EXPECT_TRUE(contains(gone.out, "fail\tserver\t"));
}

}  // namespace
}  // namespace drover::e2e
