// What the doorkeeper keeps of the tokens that it was shown.
#include "server/token_keeper.h"

#include <gtest/gtest.h>

#include <optional>

#include "engine/open.h"
#include "support/must.h"

namespace drover::server {
namespace {

TEST(TokenKeeperTest, WritesDownTheLastUsesWhenItEnds) {
  const auto opened = test::must(open_queue("memory:"));
  TokenBook book(opened->store(), system_rng());
  const CreatedToken token = test::must(book.create({.role = Role::kOperator}));
  std::optional<TokenKeeper> keeper(book);
  EXPECT_EQ(test::must(keeper->principal(token.text)).token_id, token.info.id);
  keeper.reset();
  EXPECT_TRUE(test::must(book.list()).front().last_used_at.has_value());
}

}  // namespace
}  // namespace drover::server
