#include <gtest/gtest.h>

#include <stdexcept>

#include "cli/parse.h"

namespace drover::cli {
namespace {

using TokenWords = std::vector<std::string>;

template <class Options>
Options token_parsed(const TokenWords& words) {
  auto invocation = parse_command_line(words);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return std::get<Options>(invocation->command);
}

bool is_refused_with(const TokenWords& words, std::string_view part) {
  const auto invocation = parse_command_line(words);
  return !invocation && invocation.error().message.find(part) != std::string::npos;
}

TEST(ParseToken, Create) {
  EXPECT_EQ(token_parsed<TokenCreateOptions>({"token", "create", "--role", "worker", "--queue", "eng", "--queue", "ops",
                                              "--expires", "30d", "--note", "a b", "--json"}),
            (TokenCreateOptions{.role = Role::kWorker,
                                .owner = std::nullopt,
                                .queues = {"eng", "ops"},
                                .expires = std::chrono::days(30),
                                .note = "a b",
                                .format = Format::kJson}));
  EXPECT_TRUE(is_refused_with({"token", "create"}, "--role is missing"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "admn"}, "did you mean admin?"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "viewer", "--owner", "a b"}, "--owner"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "viewer", "--expires", "0s"}, "--expires"));
}

TEST(ParseToken, RevokeTakesAnIdOrAWholeToken) {
  EXPECT_EQ(token_parsed<TokenRevokeOptions>({"token", "revoke", "4fQ1mZ8x"}).id, "4fQ1mZ8x");
  EXPECT_EQ(token_parsed<TokenRevokeOptions>({"token", "revoke", "drv_4fQ1mZ8x_" + std::string(43, 'A')}).id,
            "4fQ1mZ8x");
  EXPECT_TRUE(is_refused_with({"token", "revoke"}, "TOKEN is missing"));
}

}  // namespace
}  // namespace drover::cli
