// What an administrator does over HTTP, with the tokens of a real store at the door.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "remote/remote_administration.h"
#include "remote/remote_queue.h"
#include "server/server.h"
#include "server/token_keeper.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::server {
namespace {

using test::must;

// Wherever it stands: those that were made in one millisecond are in no order.
bool holds(const std::vector<TokenInfo>& tokens, const TokenInfo& token) {
  return std::ranges::count(tokens, token) == 1;
}

class AdminRoutes : public ::testing::Test {
 protected:
  AdminRoutes() { server_ = must(Server::start(engine_, local_, keeper_, options())); }

  [[nodiscard]] ServerOptions options() const { return {.listen = {"127.0.0.1:0"}, .audit_log = audit_file_}; }
  [[nodiscard]] std::unique_ptr<Administration> with_token(const std::string& token) const {
    return must(open_remote_administration({.url = server_->addresses().front(), .token = token}));
  }
  [[nodiscard]] ErrorCode code_of_list(const std::string& token) const {
    const auto listed = with_token(token)->tokens();
    return listed ? ErrorCode::kInternal : listed.error().code;
  }
  // Everything that was audited; the server is gone then.
  std::string audited() {
    server_.reset();
    std::ostringstream text;
    text << std::ifstream(audit_file_).rdbuf();
    return text.str();
  }

  test::TempDir folder_;
  std::string audit_file_ = folder_.file("audit.log");
  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration local_{*store_, engine_, rng_};
  TokenBook book_{*store_, rng_};
  TokenKeeper keeper_{book_};
  std::string admin_ = must(local_.create_token({.role = Role::kAdmin})).text;
  std::unique_ptr<Server> server_;
};

TEST_F(AdminRoutes, ATokenIsMadeListedAndRevokedAsOnTheStoreItself) {
  const auto remote = with_token(admin_);
  const CreatedToken made = must(remote->create_token({.role = Role::kWorker,
                                                       .queues = {"ops", "eng"},
                                                       .note = "for\neng",
                                                       .expires_in = std::chrono::hours(1),
                                                       .by = "ada@box"}));
  EXPECT_EQ(made.text.substr(4, 8), made.info.id);
  EXPECT_EQ(made.info.queues, (std::vector<std::string>{"eng", "ops"}));
  EXPECT_EQ(*made.info.expires_at - made.info.created_at, std::chrono::hours(1));
  EXPECT_EQ(must(remote->tokens()), must(local_.tokens()));
  EXPECT_TRUE(holds(must(remote->tokens()), made.info));

  const TokenInfo revoked = must(remote->revoke_token(made.info.id, "bob@box"));
  EXPECT_EQ(revoked.revoked_by, "bob@box");
  EXPECT_TRUE(revoked.revoked_at.has_value());
  EXPECT_TRUE(holds(must(local_.tokens()), revoked));
  EXPECT_EQ(remote->revoke_token("4fQ1mZ8x", "").error().code, ErrorCode::kNotFound);
}

TEST_F(AdminRoutes, ANewTokenWorksAtOnce) {
  const auto remote = with_token(admin_);
  for (int i = 0; i < 20; ++i) {
    const CreatedToken made = must(remote->create_token({.role = Role::kAdmin}));
    EXPECT_TRUE(holds(must(with_token(made.text)->tokens()), made.info));
  }
}

TEST_F(AdminRoutes, WhatMakesNoSenseIsRefusedAsOnTheStoreItself) {
  const auto remote = with_token(admin_);
  for (const NewToken& order :
       {NewToken{.role = Role::kAdmin, .owner = "ada"}, NewToken{.role = Role::kViewer, .queues = {"eng"}},
        NewToken{.role = Role::kAdmin, .expires_in = Millis{0}},
        NewToken{.role = Role::kAdmin, .note = std::string(kTokenNoteBytesMax + 1, 'x')}}) {
    const auto far = remote->create_token(order);
    const auto near = local_.create_token(order);
    ASSERT_FALSE(far.has_value());
    EXPECT_EQ(far.error().code, near.error().code);
    EXPECT_EQ(far.error().message, near.error().message);
  }
  EXPECT_EQ(remote->create_token({.role = Role::kAdmin, .note = "\xff"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(local_.tokens()).size(), 1U);
}

TEST_F(AdminRoutes, OthersThanAdminsMayNot) {
  for (const Role role : {Role::kViewer, Role::kProducer, Role::kWorker, Role::kOperator}) {
    const std::string token = must(local_.create_token({.role = role})).text;
    EXPECT_EQ(code_of_list(token), ErrorCode::kForbidden) << name_of(role);
    EXPECT_EQ(with_token(token)->create_token({.role = Role::kAdmin}).error().code, ErrorCode::kForbidden);
    EXPECT_EQ(with_token(token)->accept_regression().error().code, ErrorCode::kForbidden);
  }
  EXPECT_EQ(code_of_list("drv_01234567_0123456789012345678901234567890123456789012"), ErrorCode::kUnauthorised);
}

TEST_F(AdminRoutes, TheStoreIsShownAndALossAccepted) {
  const auto remote = with_token(admin_);
  const StoreState here = must(local_.store_state());
  const StoreState there = must(remote->store_state());
  EXPECT_EQ(there.extent.epochs, here.extent.epochs);
  EXPECT_EQ(there.extent.seq, here.extent.seq);
  EXPECT_EQ(there.loss, std::nullopt);
  const StoreState accepted = must(remote->accept_regression());
  EXPECT_EQ(accepted.extent.epochs.size(), here.extent.epochs.size() + 1);
  EXPECT_EQ(accepted.extent.epochs.back().cause, Epoch::Cause::kAccepted);
}

TEST_F(AdminRoutes, AnEnqueueIsAuditedWithItsTasks) {
  const auto queue = must(open_remote({.url = server_->addresses().front(), .token = admin_}));
  const auto one = must(queue->enqueue_one({.type = "work"}));
  const auto many = must(queue->enqueue(std::vector<TaskSpec>(3, TaskSpec{.type = "work"})));
  must(queue->register_worker({.id = "w", .version = "1", .serves = {{.queue = "work"}}}));
  const auto claimed = must(queue->claim({.worker_id = "w", .serves = {{.queue = "work"}}}));
  const auto child = must(queue->spawn(claimed.front().lease, std::vector<TaskSpec>{{.type = "child"}}));
  const std::string log = audited();
  const auto names = [&](const std::string& subject) {
    EXPECT_NE(log.find(fmt::format(R"("subject":"{}")", subject)), std::string::npos) << subject << " in " << log;
  };
  names(one.id.to_string());
  names(many.front().id.to_string() + " and 2 more");
  names(claimed.front().task.id.to_string() + " " + child.front().id.to_string());
}

TEST_F(AdminRoutes, WhoMadeATokenIsAuditedAndItsTextIsNot) {
  const CreatedToken made = must(with_token(admin_)->create_token({.role = Role::kAdmin, .note = "for the audit"}));
  must(with_token(admin_)->revoke_token(made.info.id, "ada"));
  const std::string log = audited();
  EXPECT_NE(log.find(R"("method":"POST","route":"/v1/tokens")"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("route":"/v1/tokens/{id}","subject":")" + made.info.id), std::string::npos) << log;
  EXPECT_NE(log.find(R"("token_id":")" + admin_.substr(4, 8)), std::string::npos) << log;
  EXPECT_EQ(log.find(made.text.substr(13)), std::string::npos);
  EXPECT_EQ(log.find(admin_.substr(13)), std::string::npos);
}

}  // namespace
}  // namespace drover::server
