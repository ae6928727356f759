// Sign-ins and their codes, over every store.
#include "engine/signins.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "base/sha256.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "support/together.h"

namespace drover::test {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

class SigninBookTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Store> open() {
    if (GetParam() == "redis") {
      drover::RedisOptions options;
      options.address = shared_redis().address(prefix_);
      options.test_clock = &clock_;
      return must(open_redis(std::move(options)));
    }
    SqliteOptions options;
    if (GetParam() == "sqlite") options.path = folder_.file("q.db");
    options.clock = &clock_;
    options.ballast_bytes = 0;
    return must(open_sqlite(std::move(options)));
  }
  CreatedSignin sign_in() { return must(book_.sign_in({.token = token_.text, .from = "192.0.2.7"})); }
  Result<Principal> find(const CreatedSignin& signin) { return find(signin.cookie, signin.secret); }
  Result<Principal> find(std::string_view cookie, std::string_view secret) {
    return find_signed_in(must(tokens_.read()), signin_text(cookie, secret), clock_.wall());
  }
  ErrorCode refusal(const NewSignin& order) {
    const auto created = book_.sign_in(order);
    EXPECT_FALSE(created.has_value());
    return created ? ErrorCode::kInternal : created.error().code;
  }
  std::string stored() { return must(store_->document(DocumentKind::kAccessTokens)).text; }
  std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const Event& event : must(store_->events(0, 200))) names.push_back(event.name);
    return names;
  }

  ManualClock clock_;
  LockedRng rng_{1};
  TempDir folder_;
  std::string prefix_ = GetParam() == "redis" ? fresh_prefix() : "";
  std::unique_ptr<Store> store_ = open();
  TokenBook tokens_{*store_, rng_};
  SigninBook book_{tokens_, rng_};
  CreatedToken token_ = must(tokens_.create({.role = Role::kProducer, .owner = "ada"}));
};

TEST_P(SigninBookTest, ACodeSignsInOnce) {
  const SigninCode code = must(book_.create_code(token_.info.id));
  EXPECT_EQ(code.expires_at, clock_.wall() + 10min);
  EXPECT_EQ(stored().find(code.code), std::string::npos) << "only its hash is kept";
  const CreatedSignin signin = must(book_.sign_in({.code = code.code}));
  const Principal who = must(find(signin));
  EXPECT_EQ(who.token_id, token_.info.id);
  EXPECT_EQ(who.signin_id, signin.info.record.id);
  EXPECT_EQ(who.role, Role::kProducer);
  EXPECT_EQ(who.owner, "ada");
  EXPECT_EQ(who.expires_at, clock_.wall() + 12h);
  EXPECT_EQ(refusal({.code = code.code}), ErrorCode::kUnauthorised);
  EXPECT_EQ(event_names(), (std::vector<std::string>{"token.created", "signin.created"}));
}

TEST_P(SigninBookTest, OfTwoBrowsersWithOneCodeOneSignsIn) {
  const SigninCode code = must(book_.create_code(token_.info.id));
  std::atomic<int> signed_in = 0;
  together(4, [&](int /*i*/) { signed_in += book_.sign_in({.code = code.code}).has_value() ? 1 : 0; });
  EXPECT_EQ(signed_in, 1);
}

TEST_P(SigninBookTest, ACodeExpires) {
  const SigninCode code = must(book_.create_code(token_.info.id));
  clock_.advance(10min);
  EXPECT_EQ(refusal({.code = code.code}), ErrorCode::kUnauthorised);
}

TEST_P(SigninBookTest, WrongCodesAndTokensAreRefused) {
  const SigninCode code = must(book_.create_code(token_.info.id));
  const std::string sha256 = sha256_hex(code.code);
  for (const std::string& wrong : {std::string(), code.code.substr(1), code.code + "x", sha256, token_.text}) {
    EXPECT_EQ(refusal({.code = wrong}), ErrorCode::kUnauthorised) << wrong;
  }
  EXPECT_EQ(refusal({.token = code.code}), ErrorCode::kUnauthorised);
  EXPECT_EQ(refusal({.token = ""}), ErrorCode::kUnauthorised);
  EXPECT_EQ(refusal({}), ErrorCode::kUnauthorised);
  must(book_.sign_in({.code = code.code}));
}

TEST_P(SigninBookTest, NeitherHalfCountsAlone) {
  const CreatedSignin one = sign_in();
  const CreatedSignin other = sign_in();
  must(find(one));
  EXPECT_EQ(stored().find(one.cookie), std::string::npos);
  EXPECT_EQ(stored().find(one.secret.substr(9)), std::string::npos);
  EXPECT_FALSE(find("", one.secret));
  EXPECT_FALSE(find(one.cookie, ""));
  EXPECT_FALSE(find(other.cookie, one.secret)) << "halves of two sign-ins";
  EXPECT_FALSE(find(one.cookie, other.secret));
  EXPECT_FALSE(find(one.cookie, one.info.record.id + "_" + other.secret.substr(9)));
  EXPECT_FALSE(find_principal(must(tokens_.read()), signin_text(one.cookie, one.secret), clock_.wall()))
      << "it is no token";
}

TEST_P(SigninBookTest, EndsWhenItIsNotUsedForTwelveHours) {
  const CreatedSignin signin = sign_in();
  clock_.advance(11h);
  tokens_.note_use(must(find(signin)), clock_.wall());
  must(tokens_.write_uses());
  clock_.advance(11h);
  must(find(signin));
  EXPECT_EQ(must(book_.list()).size(), 1U);
  clock_.advance(1h);
  EXPECT_FALSE(find(signin));
  EXPECT_TRUE(must(book_.list()).empty());
  sign_in();
  EXPECT_EQ(must(tokens_.read()).signins.size(), 1U) << "the next change forgets it";
}

TEST_P(SigninBookTest, EndsWithItsToken) {
  const CreatedSignin signin = sign_in();
  const SigninCode code = must(book_.create_code(token_.info.id));
  must(tokens_.revoke(token_.info.id, "me"));
  EXPECT_FALSE(find(signin));
  EXPECT_EQ(refusal({.code = code.code}), ErrorCode::kUnauthorised);
  EXPECT_EQ(book_.create_code(token_.info.id).error().code, ErrorCode::kNotFound);

  const CreatedToken brief = must(tokens_.create({.role = Role::kViewer, .expires_in = Millis{1h}}));
  const CreatedSignin briefly = must(book_.sign_in({.token = brief.text}));
  EXPECT_EQ(briefly.info.expires_at, clock_.wall() + 1h);
  clock_.advance(1h);
  EXPECT_FALSE(find(briefly));
}

TEST_P(SigninBookTest, IsEndedByIdAndOnlyByWhoMay) {
  const CreatedSignin signin = sign_in();
  const std::string id = signin.info.record.id;
  EXPECT_EQ(book_.end(id, "another1").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(book_.end("nothing1", std::nullopt).error().code, ErrorCode::kNotFound);
  must(find(signin));
  must(book_.end(id, token_.info.id));
  EXPECT_FALSE(find(signin));
  EXPECT_EQ(book_.end(id, std::nullopt).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(event_names().back(), "signin.ended");
}

TEST_P(SigninBookTest, ListsTheLatestUsedFirst) {
  const CreatedSignin first = must(book_.sign_in({.token = token_.text, .from = "192.0.2.7", .user_agent = "one"}));
  clock_.advance(1h);
  const CreatedSignin second = sign_in();
  const auto listed = must(book_.list());
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].record.id, second.info.record.id);
  EXPECT_EQ(listed[1].record.id, first.info.record.id);
  EXPECT_EQ(listed[1].record.user_agent, "one");
  EXPECT_EQ(listed[1].record.from, "192.0.2.7");
  EXPECT_EQ(listed[1].owner, "ada");
}

TEST_P(SigninBookTest, WhatABrowserCallsItselfIsCutBetweenCharacters) {
  std::string agent(kSigninAgentBytesMax - 1, 'x');
  const CreatedSignin signin =
      must(book_.sign_in({.token = token_.text, .user_agent = agent + "\xc3\xa4 and more \xff"}));
  EXPECT_EQ(signin.info.record.user_agent, agent);
  EXPECT_EQ(must(book_.list()).front().record.user_agent, agent);
}

TEST_P(SigninBookTest, AreBounded) {
  std::vector<SigninCode> codes;
  for (std::size_t i = 0; i <= kSigninCodesOfTokenMax; ++i) codes.push_back(must(book_.create_code(token_.info.id)));
  EXPECT_EQ(must(tokens_.read()).codes.size(), kSigninCodesOfTokenMax);
  EXPECT_EQ(refusal({.code = codes.front().code}), ErrorCode::kUnauthorised) << "the oldest makes room";
  must(book_.sign_in({.code = codes.back().code}));

  const CreatedSignin old = sign_in();
  clock_.advance(1min);
  tokens_.note_use(must(find(old)), clock_.wall());
  must(tokens_.write_uses());
  for (std::size_t i = 0; i < kSigninsOfTokenMax; ++i) sign_in();
  EXPECT_EQ(must(book_.list()).size(), kSigninsOfTokenMax);
  must(find(old));
}

// On stores that can be opened twice.
class LastingSigninTest : public SigninBookTest {};

TEST_P(LastingSigninTest, OutliveTheirServer) {
  const CreatedSignin signin = sign_in();
  const auto again = open();
  TokenBook tokens(*again, rng_);
  EXPECT_TRUE(find_signed_in(must(tokens.read()), signin_text(signin.cookie, signin.secret), clock_.wall()));
}

INSTANTIATE_TEST_SUITE_P(Stores, SigninBookTest, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& store) { return store.param; });

INSTANTIATE_TEST_SUITE_P(Stores, LastingSigninTest, testing::Values("sqlite", "redis"),
                         [](const auto& store) { return store.param; });

// ---- texts

TEST(SigninText, OnlyWholeOnesHaveAnId) {
  SeededRng rng(1);
  const std::string secret = "01234567_" + new_secret(rng);
  const std::string text = signin_text(new_secret(rng), secret);
  EXPECT_EQ(id_in_signin(text), "01234567");
  EXPECT_EQ(id_in_signin_secret(secret), "01234567");
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(id_in_signin(text.substr(0, i)));
    std::string wrong = text;
    wrong[i] = '!';
    EXPECT_FALSE(id_in_signin(wrong)) << i;
  }
  EXPECT_FALSE(id_in_signin(text + "0"));
  EXPECT_FALSE(id_in_signin_secret(""));
  EXPECT_FALSE(id_in_signin_secret(secret + "0"));
  std::set<std::string> codes;
  for (int i = 0; i < 100; ++i) codes.insert(new_signin_code(rng));
  EXPECT_EQ(codes.size(), 100U);
}

}  // namespace
}  // namespace drover::test
