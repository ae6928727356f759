// drover token, as scripts and people use it.
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

using TokenTest = E2eTest;

TEST_F(TokenTest, CreatePrintsTheTokenAloneAndTheRestOnStderr) {
  const Outcome created = sandbox.drover({"token", "create", "--role", "producer", "--owner", "ada"});
  EXPECT_EQ(created.exit_code, 0) << created.err;
  ASSERT_EQ(created.out.size(), 57U) << created.out;
  EXPECT_TRUE(created.out.starts_with("drv_"));
  const std::string id = created.out.substr(4, 8);
  EXPECT_TRUE(contains(created.err, "token " + id + " (producer of ada)"));
  EXPECT_FALSE(contains(created.err, created.out.substr(13, 43)));

  const json::Value token = sandbox.must_json(
      {"token", "create", "--role", "worker", "--queue", "eng", "--expires", "1h", "--note", "for eng", "--json"});
  EXPECT_EQ(at(token, "token").substr(4, 8), at(token, "id"));
  EXPECT_EQ(at(token, "queues"), R"(["eng"])");
  EXPECT_EQ(at(token, "owner"), "null");
  EXPECT_EQ(at(token, "note"), "for eng");
}

TEST_F(TokenTest, ListShowsWhatBecameOfThemAndNoSecret) {
  const std::string before = sandbox.must({"token", "list", "-o", "name"});
  EXPECT_EQ(before.empty(), !sandbox.is_served());
  const std::string text = sandbox.must({"token", "create", "--role", "admin"});
  const std::string id = text.substr(4, 8);
  EXPECT_EQ(sandbox.must({"token", "list", "-o", "name"}), id + "\n" + before);
  EXPECT_TRUE(contains(sandbox.must({"complete", "token"}), id + "\n"));
  EXPECT_TRUE(sandbox.must({"token", "list"}).starts_with(id + "\tadmin\t\t\tactive\t"));

  const json::Value revoked = sandbox.must_json({"token", "revoke", id, "--json"});
  EXPECT_EQ(at(revoked, "id"), id);
  EXPECT_NE(at(revoked, "revoked_at"), "null");
  const json::Value listed = sandbox.must_json({"token", "list", "--json"});
  EXPECT_EQ(listed.as_array()->at(0), revoked);
  EXPECT_EQ(sandbox.must({"complete", "token"}), before);
  EXPECT_FALSE(contains(json::dump(listed), text.substr(13, 43)));
  EXPECT_FALSE(contains(sandbox.must({"export", "-"}), "sha256")) << "tokens stay out of a dump";
}

TEST_F(TokenTest, RefusesWhatMakesNoSense) {
  const std::string before = sandbox.must({"token", "list", "-o", "name"});
  expect_refused(sandbox.drover({"token", "create", "--role", "admin", "--owner", "ada"}), 1, "invalid_argument");
  expect_refused(sandbox.drover({"token", "create", "--role", "viewer", "--queue", "eng"}), 1, "invalid_argument");
  expect_refused(sandbox.drover({"token", "create", "--role", "root"}), 2, "invalid_argument");
  expect_refused(sandbox.drover({"token", "revoke", "4fQ1mZ8x"}), 5, "not_found");
  EXPECT_EQ(sandbox.must({"token", "list", "-o", "name"}), before);
}

}  // namespace
}  // namespace drover::e2e
