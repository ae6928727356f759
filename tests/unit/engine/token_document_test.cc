#include "engine/token_document.h"

#include <gtest/gtest.h>

#include <set>

#include "base/sha256.h"
#include "support/must.h"

namespace drover::test {
namespace {

constexpr Time kTokensNow{Millis{1'800'000'000'000}};
constexpr Millis kHour = std::chrono::hours(1);

class TokenDocumentTest : public testing::Test {
 protected:
  // The text of a new token with these properties.
  std::string add(TokenInfo info) {
    info.id = new_token_id(rng_);
    std::string text = new_token_text(rng_, info.id);
    document_.tokens[info.id] = {.info = info, .sha256 = sha256_hex(text)};
    return text;
  }
  std::string refusal(std::string_view text) {
    const auto found = find_principal(document_, text, kTokensNow);
    if (found) return "it is " + found->token_id;
    EXPECT_EQ(found.error().code, ErrorCode::kUnauthorised);
    return found.error().message;
  }

  SeededRng rng_{1};
  TokenDocument document_;
};

TEST_F(TokenDocumentTest, ATokenStandsForWhoItWasMadeFor) {
  add({.role = Role::kAdmin});
  const std::string text = add({.role = Role::kWorker, .queues = {"eng", "ops"}});
  const Principal worker = must(find_principal(document_, text, kTokensNow));
  EXPECT_EQ(worker, (Principal{.token_id = text.substr(4, 8), .role = Role::kWorker, .queues = {"eng", "ops"}}));
  const std::string other = add({.role = Role::kProducer, .owner = "ada"});
  EXPECT_EQ(must(find_principal(document_, other, kTokensNow)).owner, "ada");
}

TEST_F(TokenDocumentTest, WrongIdsAndWrongSecretsAreRefusedAlike) {
  const std::string text = add({.role = Role::kAdmin});
  const std::string other = add({.role = Role::kViewer, .owner = "ada"});
  const std::string unknown = "this token is not known here";
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
    EXPECT_EQ(refusal(wrong), unknown) << wrong;
    EXPECT_EQ(refusal(text.substr(0, i)), unknown) << i;
  }
  // The id of one with the secret of the other.
  EXPECT_EQ(refusal(text.substr(0, 13) + other.substr(13)), unknown);
  EXPECT_EQ(refusal(text + "x"), unknown);
  EXPECT_EQ(refusal(" " + text), unknown);
  EXPECT_EQ(refusal(std::string(1'000'000, 'x')), unknown);
  EXPECT_EQ(refusal(text.substr(0, 55) + std::string(1, '\0')), unknown);
  EXPECT_EQ(refusal(document_.tokens.begin()->second.sha256), unknown) << "what is stored opens nothing";
}

TEST_F(TokenDocumentTest, ExpiredAndRevokedOnesAreRefused) {
  const std::string expired = add({.expires_at = kTokensNow});
  EXPECT_EQ(refusal(expired), "this token has expired");
  const std::string revoked = add({.expires_at = kTokensNow - kHour, .revoked_at = kTokensNow - kHour});
  EXPECT_EQ(refusal(revoked), "this token was revoked");
  const std::string good = add({.expires_at = kTokensNow + Millis{1}});
  EXPECT_TRUE(find_principal(document_, good, kTokensNow).has_value());
  std::string guess = revoked;
  guess.back() = guess.back() == 'x' ? 'y' : 'x';
  EXPECT_EQ(refusal(guess), "this token is not known here") << "its fate is told only to its holder";
}

TEST_F(TokenDocumentTest, IsReadBackAsItWasWritten) {
  add({.role = Role::kProducer,
       .owner = "ada",
       .note = "line\nbreak",
       .created_by = "ada@box",
       .created_at = kTokensNow - kHour,
       .expires_at = kTokensNow + kHour,
       .last_used_at = kTokensNow});
  add({.role = Role::kWorker,
       .queues = {"eng"},
       .created_at = kTokensNow,
       .revoked_at = kTokensNow,
       .revoked_by = "bob@box"});
  document_.version = 7;
  EXPECT_EQ(must(parse_token_document(7, to_json(document_))), document_);
  EXPECT_EQ(must(parse_token_document(0, "{}")), TokenDocument{});
}

TEST_F(TokenDocumentTest, WhatCannotBeReadIsDamaged) {
  add({.role = Role::kViewer, .owner = "ada"});
  const std::string good = to_json(document_);
  const std::vector<std::pair<std::string, std::string>> damages{
      {R"("role":"viewer")", R"("role":"root")"},
      {R"("owner":"ada")", R"("owner":7)"},
      {R"("queues":[])", R"("queues":[7])"},
      {R"("queues":[])", R"("queues":null)"},
      {R"("expires_at":null)", R"("expires_at":"soon")"},
      {R"("note":"")", R"("notes":"")"},
      {R"("sha256":")", R"("sha256":"0)"},
      {R"({"tokens":)", R"({"token":)"},
  };
  for (const auto& [from, to] : damages) {
    std::string text = good;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto read = parse_token_document(1, text);
    ASSERT_FALSE(read.has_value()) << to;
    EXPECT_EQ(read.error().code, ErrorCode::kStoreDamaged);
  }
  EXPECT_FALSE(parse_token_document(1, "").has_value());
}

TEST_F(TokenDocumentTest, TextsAreLongAndUseEveryDigit) {
  std::set<char> digits;
  std::set<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    const std::string text = new_token_text(rng_, "0123abcX");
    EXPECT_EQ(text.size(), 56U);
    EXPECT_EQ(id_in_token(text), "0123abcX");
    digits.insert(text.begin() + 13, text.end());
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 200U);
  EXPECT_EQ(digits.size(), 62U);
}

TEST_F(TokenDocumentTest, WhatIsToldOfATokenHasNoSecret) {
  const std::string text = add({.role = Role::kViewer, .owner = "ada", .created_at = kTokensNow});
  const StoredToken& token = document_.tokens.begin()->second;
  EXPECT_EQ(to_json(token.info),
            R"({"id":")" + token.info.id +
                R"(","role":"viewer","owner":"ada","queues":[],"note":"","created_by":"",)"
                R"("created_at":"2027-01-15T08:00:00.000Z","expires_at":null,"last_used_at":null,"revoked_at":null,)"
                R"("revoked_by":""})");
  EXPECT_EQ(to_json(document_).find(text.substr(13)), std::string::npos);
}

}  // namespace
}  // namespace drover::test
