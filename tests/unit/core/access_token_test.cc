#include "core/access_token.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::test {
namespace {

constexpr Time kNow{Millis{1'800'000'000'000}};

TokenInfo full() {
  return {.id = "4fQ1mZ8x",
          .role = Role::kProducer,
          .owner = "ada",
          .queues = {"eng"},
          .note = "line\nbreak",
          .created_by = "ada@box",
          .created_at = kNow,
          .expires_at = kNow + Millis{1},
          .last_used_at = kNow,
          .revoked_at = kNow,
          .revoked_by = "bob@box"};
}

TEST(AccessToken, IsReadBackAsItWasWritten) {
  for (const TokenInfo& token : {full(), TokenInfo{.id = "4fQ1mZ8x", .created_at = kNow}}) {
    TokenInfo read;
    must(read_json(to_json(token), read));
    EXPECT_EQ(read, token);
    CreatedToken created;
    must(read_json(to_json(CreatedToken{.text = "drv_4fQ1mZ8x_secret", .info = token}), created));
    EXPECT_EQ(created.text, "drv_4fQ1mZ8x_secret");
    EXPECT_EQ(created.info, token);
  }
}

TEST(AccessToken, ARoleIsAName) {
  Role role{};
  must(read_json(R"("worker")", role));
  EXPECT_EQ(role, Role::kWorker);
  EXPECT_EQ(read_json(R"("root")", role).error().message, R"(unknown role "root")");
  EXPECT_FALSE(read_json("7", role).has_value());
}

TEST(AccessToken, EndsWhenItExpiresOrIsRevoked) {
  TokenInfo token{.expires_at = kNow};
  EXPECT_EQ(name_of(state_of(token, kNow - Millis{1})), "active");
  EXPECT_EQ(name_of(state_of(token, kNow)), "expired");
  token.revoked_at = kNow;
  EXPECT_EQ(name_of(state_of(token, kNow)), "revoked");
  EXPECT_EQ(name_of(state_of(TokenInfo{}, kNow)), "active");
}

}  // namespace
}  // namespace drover::test
