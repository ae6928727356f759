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
}

}  // namespace
}  // namespace drover::e2e
