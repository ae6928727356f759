#include <gtest/gtest.h>

#include <stdexcept>

#include "cli/parse.h"

namespace drover::cli {
namespace {

using TokenWords = std::vector<std::string>;

Invocation token_parsed(const TokenWords& words) {
  auto invocation = parse_command_line(words);
  if (!invocation) throw std::runtime_error(invocation.error().message);
  return *std::move(invocation);
}

bool is_refused_with(const TokenWords& words, std::string_view part) {
  const auto invocation = parse_command_line(words);
  return !invocation && invocation.error().message.find(part) != std::string::npos;
}

TEST(ParseToken, Create) {
  const Invocation create = token_parsed({"token", "create", "--role", "worker", "--queue", "eng", "--queue", "ops",
                                          "--expires", "30d", "--note", "a b", "--json"});
  EXPECT_EQ(create.value<Role>("--role"), Role::kWorker);
  EXPECT_EQ(create.value<std::optional<std::string>>("--owner"), std::nullopt);
  EXPECT_EQ(create.value<TokenWords>("--queue"), (TokenWords{"eng", "ops"}));
  EXPECT_EQ(create.value<std::optional<Millis>>("--expires"), std::chrono::days(30));
  EXPECT_EQ(create.value<std::string>("--note"), "a b");
  EXPECT_EQ(create.value<Format>("--json"), Format::kJson);
  EXPECT_TRUE(is_refused_with({"token", "create"}, "--role is missing"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "admn"}, "did you mean admin?"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "viewer", "--owner", "a b"}, "--owner"));
  EXPECT_TRUE(is_refused_with({"token", "create", "--role", "viewer", "--expires", "0s"}, "--expires"));
}

TEST(ParseToken, RevokeTakesAnIdOrAWholeToken) {
  EXPECT_EQ(token_parsed({"token", "revoke", "4fQ1mZ8x"}).value<std::string>("TOKEN"), "4fQ1mZ8x");
  EXPECT_EQ(token_parsed({"token", "revoke", "drv_4fQ1mZ8x_" + std::string(43, 'A')}).value<std::string>("TOKEN"),
            "4fQ1mZ8x");
  EXPECT_TRUE(is_refused_with({"token", "revoke"}, "TOKEN is missing"));
}

}  // namespace
}  // namespace drover::cli
