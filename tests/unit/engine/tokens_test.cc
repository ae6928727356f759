// Tokens, and the documents that they stand on, over every store.
#include "engine/tokens.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/json.h"
#include "core/believed_time.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/fault_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "support/together.h"

namespace drover::test {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;
using std::chrono::days;

constexpr DocumentKind kTokens = DocumentKind::kAccessTokens;

class TokenBookTest : public testing::TestWithParam<std::string> {
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
  ErrorCode refusal(const NewToken& order) {
    const auto created = book_.create(order);
    EXPECT_FALSE(created.has_value());
    return created ? ErrorCode::kInternal : created.error().code;
  }
  // As sweepers do once a minute.
  void believe_the_clock() {
    const BelievedTime believed = first_look(must(store_->clocks()), FirstLook::kEmpty);
    const StoredDocument before = must(store_->document(DocumentKind::kBelievedTime));
    must(store_->put_document(DocumentKind::kBelievedTime, to_json(believed), before.version, {}));
  }
  Result<Principal> find(std::string_view text) { return find_principal(must(book_.read()), text, clock_.wall()); }
  std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const Event& event : must(store_->events(0, 100))) names.push_back(event.name);
    return names;
  }

  ManualClock clock_;
  LockedRng rng_{1};
  TempDir folder_;
  std::string prefix_ = GetParam() == "redis" ? fresh_prefix() : "";
  std::unique_ptr<Store> store_ = open();
  FaultStore faults_{*store_};
  TokenBook book_{faults_, rng_};
};

// ---- documents

TEST_P(TokenBookTest, ADocumentIsChangedOnlyFromTheVersionThatIsStored) {
  const StoredDocument none = must(store_->document(kTokens));
  EXPECT_EQ(none.version, 0);
  EXPECT_EQ(none.text, "{}");
  EXPECT_FALSE(must(store_->put_document(kTokens, R"({"a":1})", 1, {})));
  EXPECT_TRUE(must(store_->put_document(kTokens, R"({"a":1})", 0, {})));
  EXPECT_FALSE(must(store_->put_document(kTokens, R"({"a":2})", 0, {})));
  EXPECT_TRUE(must(store_->put_document(kTokens, R"({"a":"é\n"})", 1, {})));
  EXPECT_EQ(must(store_->document(kTokens)).version, 2);
  EXPECT_EQ(must(store_->document(kTokens)).text, R"({"a":"é\n"})");
}

TEST_P(TokenBookTest, DocumentsDoNotTouchEachOther) {
  EXPECT_TRUE(must(store_->put_document(kTokens, R"({"a":1})", 0, {})));
  EXPECT_EQ(must(store_->document(DocumentKind::kHealth)).version, 0);
  EXPECT_TRUE(must(store_->put_document(DocumentKind::kHealth, R"({"b":1})", 0, {})));
  EXPECT_EQ(must(store_->document(kTokens)).text, R"({"a":1})");
  EXPECT_EQ(must(store_->fsck(FsckMode::kCheck)).size(), 0U);
}

TEST_P(TokenBookTest, EventsOfADocumentComeWithItOrNotAtAll) {
  const std::vector<EventDraft> events{{.name = "token.created", .data = R"({"token_id":"x"})"}, {.name = "other"}};
  EXPECT_FALSE(must(store_->put_document(kTokens, "{}", 3, events)));
  EXPECT_EQ(event_names(), std::vector<std::string>());
  EXPECT_TRUE(must(store_->put_document(kTokens, "{}", 0, events)));
  EXPECT_EQ(event_names(), (std::vector<std::string>{"token.created", "other"}));
  EXPECT_EQ(must(store_->events(0, 1)).at(0).data, R"({"token_id":"x"})");
}

// ---- tokens

TEST_P(TokenBookTest, NoneIsForgottenBecauseSomebodySetTheClock) {
  const std::string id = must(book_.create({.role = Role::kAdmin, .expires_in = std::chrono::days(90)})).info.id;
  clock_.jump_wall(std::chrono::days(3650));
  must(book_.create({.role = Role::kAdmin}));
  clock_.jump_wall(-std::chrono::days(3650));
  EXPECT_TRUE(must(book_.read()).tokens.contains(id));
}

TEST_P(TokenBookTest, ATokenIsKnownUntilItIsRevoked) {
  const CreatedToken created = must(book_.create({.role = Role::kProducer, .owner = "ada", .by = "ada@box"}));
  EXPECT_EQ(must(find(created.text)),
            (Principal{.token_id = created.info.id, .role = Role::kProducer, .owner = "ada", .queues = {}}));
  clock_.advance(1h);
  const TokenInfo revoked = must(book_.revoke(created.info.id, "bob@box"));
  EXPECT_EQ(revoked.revoked_at, clock_.wall());
  EXPECT_EQ(revoked.revoked_by, "bob@box");
  EXPECT_FALSE(find(created.text).has_value());
  clock_.advance(1h);
  EXPECT_EQ(must(book_.revoke(created.info.id, "eve@box")), revoked) << "the first one counts";
  EXPECT_EQ(must(book_.list()), std::vector{revoked});
  EXPECT_EQ(event_names(), (std::vector<std::string>{"token.created", "token.revoked"}));
}

TEST_P(TokenBookTest, TokensOutliveTheProcessThatMadeThem) {
  if (GetParam() == "memory") return;  // the store is the process
  const CreatedToken created = must(book_.create({.role = Role::kAdmin}));
  const std::unique_ptr<Store> other = open();
  EXPECT_EQ(must(TokenBook(*other, rng_).list()), std::vector{created.info});
}

TEST_P(TokenBookTest, TheTextOfATokenIsStoredNowhere) {
  const CreatedToken created = must(book_.create({.role = Role::kAdmin}));
  const std::string secret = created.text.substr(created.text.rfind('_') + 1);
  EXPECT_EQ(must(store_->document(kTokens)).text.find(secret), std::string::npos);
  for (const Event& event : must(store_->events(0, 10))) EXPECT_EQ(event.data.find(secret), std::string::npos);
}

TEST_P(TokenBookTest, TokensAreListedNewestFirst) {
  const std::string first = must(book_.create({.role = Role::kAdmin})).info.id;
  clock_.advance(1s);
  const std::string second = must(book_.create({.role = Role::kAdmin})).info.id;
  const auto tokens = must(book_.list());
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].id, second);
  EXPECT_EQ(tokens[1].id, first);
}

TEST_P(TokenBookTest, RolesHaveWhatTheyNeedAndNothingElse) {
  EXPECT_EQ(must(book_.create({.role = Role::kViewer})).info.owner, "default");
  EXPECT_EQ(must(book_.create({.role = Role::kProducer})).info.owner, "default");
  const TokenInfo worker = must(book_.create({.role = Role::kWorker, .queues = {"ops", "eng", "ops"}})).info;
  EXPECT_EQ(worker.owner, std::nullopt);
  EXPECT_EQ(worker.queues, (std::vector<std::string>{"eng", "ops"}));
  EXPECT_EQ(must(book_.create({.role = Role::kOperator})).info.owner, std::nullopt);

  EXPECT_EQ(refusal({.role = Role::kWorker, .owner = "ada"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kOperator, .owner = "ada"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kAdmin, .owner = "ada"}), ErrorCode::kInvalidArgument);
  for (const Role role : {Role::kViewer, Role::kProducer, Role::kOperator, Role::kAdmin})
    EXPECT_EQ(refusal({.role = role, .queues = {"eng"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(book_.list()).size(), 4U);
  EXPECT_EQ(book_.create({.role = Role::kOperator, .owner = "ada"}).error().message,
            "owner: a token of the role operator cannot have an owner; only a viewer's or a producer's can");
  EXPECT_EQ(book_.create({.role = Role::kViewer, .queues = {"eng"}}).error().message,
            "queues: a token of the role viewer cannot have queues; only a worker's can");
}

TEST_P(TokenBookTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal({.role = Role::kViewer, .owner = "a b"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kWorker, .queues = {""}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kWorker, .queues = std::vector<std::string>(kTokenQueuesMax + 1, "q")}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kAdmin, .note = std::string(kTokenNoteBytesMax + 1, 'x')}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kAdmin, .note = "\xff"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kAdmin, .by = "\xff"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.role = Role::kAdmin, .expires_in = Millis{0}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(store_->document(kTokens)).version, 0);
  EXPECT_EQ(book_.revoke("4fQ1mZ8x", "ada").error().code, ErrorCode::kNotFound);
}

TEST_P(TokenBookTest, ATokenExpiresAndIsForgottenAfterAMonth) {
  const CreatedToken brief = must(book_.create({.role = Role::kAdmin, .expires_in = 1h}));
  const CreatedToken revoked = must(book_.create({.role = Role::kAdmin}));
  must(book_.revoke(revoked.info.id, "ada"));
  EXPECT_TRUE(find(brief.text).has_value());
  clock_.advance(1h);
  EXPECT_FALSE(find(brief.text).has_value());
  clock_.advance(days(30) - 1h);
  believe_the_clock();
  must(book_.create({.role = Role::kAdmin}));
  EXPECT_EQ(must(book_.list()).size(), 3U);
  clock_.advance(Millis{1});
  believe_the_clock();
  must(book_.create({.role = Role::kAdmin}));
  EXPECT_EQ(book_.revoke(revoked.info.id, "ada").error().code, ErrorCode::kNotFound);
  clock_.advance(1h);
  believe_the_clock();
  must(book_.create({.role = Role::kAdmin}));
  EXPECT_EQ(book_.revoke(brief.info.id, "ada").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(must(book_.list()).size(), 3U);
}

TEST_P(TokenBookTest, OfManyChangesAtOnceNoneIsLost) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5;
  together(kThreads, [&](int) {
    for (int i = 0; i < kEach; ++i) must(book_.create({.role = Role::kAdmin}));
  });
  EXPECT_EQ(must(book_.list()).size(), std::size_t{kThreads * kEach});
}

TEST_P(TokenBookTest, AFailureOfTheStoreIsTold) {
  faults_.script(StoreCall::kPutDocument, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_EQ(refusal({.role = Role::kAdmin}), ErrorCode::kStoreUnavailable);
  faults_.script(StoreCall::kDocument, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_EQ(refusal({.role = Role::kAdmin}), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(must(book_.list()).size(), 0U);
}

// ---- uses

TEST_P(TokenBookTest, UsesAreWrittenTogetherAndOnceAMinute) {
  const std::string a = must(book_.create({.role = Role::kAdmin})).info.id;
  const std::string b = must(book_.create({.role = Role::kAdmin})).info.id;
  const auto last_use = [&](const std::string& id) { return must(book_.read()).tokens.at(id).info.last_used_at; };
  must(book_.write_uses());
  EXPECT_EQ(last_use(a), std::nullopt);

  const Time first = clock_.wall();
  book_.note_use({.token_id = a}, first + 1s);
  book_.note_use({.token_id = a}, first);
  book_.note_use({.token_id = b}, first);
  book_.note_use({.token_id = "gone"}, first);
  const std::int64_t version = must(book_.read()).version;
  must(book_.write_uses());
  EXPECT_EQ(must(book_.read()).version, version + 1);
  EXPECT_EQ(last_use(a), first + 1s);
  EXPECT_EQ(last_use(b), first);

  book_.note_use({.token_id = a}, first + 60s);
  must(book_.write_uses());
  EXPECT_EQ(must(book_.read()).version, version + 1) << "within the minute nothing is written";
  book_.note_use({.token_id = a}, first + 61s);
  must(book_.write_uses());
  EXPECT_EQ(last_use(a), first + 61s);
  EXPECT_EQ(last_use(b), first);
}

TEST_P(TokenBookTest, UsesThatCouldNotBeWrittenAreKept) {
  const std::string id = must(book_.create({.role = Role::kAdmin})).info.id;
  book_.note_use({.token_id = id}, clock_.wall());
  faults_.script(StoreCall::kPutDocument, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_FALSE(book_.write_uses().has_value());
  must(book_.write_uses());
  EXPECT_EQ(must(book_.read()).tokens.at(id).info.last_used_at, clock_.wall());
}

INSTANTIATE_TEST_SUITE_P(EveryStore, TokenBookTest, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& store) { return store.param; });

// ---- how many

// In memory alone: what a thousand do is decided above the stores.
TEST(TokenBookLimitTest, SoManyAreActiveAndSoManyEndedOnesAreKept) {
  ManualClock clock;
  SqliteOptions options;
  options.clock = &clock;
  const auto store = must(open_sqlite(std::move(options)));
  SeededRng rng(1);
  TokenBook book(*store, rng);
  TokenDocument document;
  for (std::size_t i = 0; i < kTokensMax; ++i) {
    const std::string id = new_token_id(rng);
    document.tokens[id] = {.info = {.id = id, .role = Role::kAdmin, .created_at = clock.wall()},
                           .sha256 = std::string(64, '0')};
  }
  must(store->put_document(kTokens, to_json(document), 0, {}));
  const auto refused = book.create({.role = Role::kAdmin});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);

  std::string first;
  for (auto& [id, token] : document.tokens) {
    clock.advance(Millis{1});
    token.info.revoked_at = clock.wall();
    if (first.empty()) first = id;
  }
  must(store->put_document(kTokens, to_json(document), 1, {}));
  const std::string next = must(book.create({.role = Role::kAdmin})).info.id;
  EXPECT_TRUE(must(book.read()).tokens.contains(first));
  clock.advance(Millis{1});
  must(book.revoke(next, "ada"));
  const auto tokens = must(book.read()).tokens;
  EXPECT_EQ(tokens.size(), kTokensMax);
  EXPECT_FALSE(tokens.contains(first)) << "the one that ended first makes room";
  EXPECT_TRUE(tokens.contains(next));
}

}  // namespace
}  // namespace drover::test
