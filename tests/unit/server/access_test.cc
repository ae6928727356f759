#include "server/access.h"

#include <gtest/gtest.h>

namespace drover::server {
namespace {

const AccessRules kRules{.hosts = {"localhost", "127.0.0.1", "[::1]", "queue.example"}};

// The status of the refusal; 0 if it may come in.
int refused(HttpHeaders headers, std::string body = {}) {
  const HttpRequest request{.method = "POST", .target = "/", .body = std::move(body), .headers = std::move(headers)};
  const auto refusal = refuse_stranger(kRules, request);
  return refusal ? refusal->status : 0;
}

TEST(Access, OnlyNamesOfThisServerAreTaken) {
  EXPECT_EQ(refused({{"host", "localhost:7711"}}), 0);
  EXPECT_EQ(refused({{"host", "Queue.Example"}}), 0);
  EXPECT_EQ(refused({{"host", "[::1]:7711"}}), 0);
  EXPECT_EQ(refused({{"host", "evil.example:7711"}}), 421);
  EXPECT_EQ(refused({{"host", "localhost.evil.example"}}), 421);
  EXPECT_EQ(refused({{"host", ""}}), 421);
  for (const std::string host : {"localhost:7711@evil.example", "localhost:@evil.example", "evil@localhost",
                                 "localhost:77x", "localhost:123456", "localhost:1:2", "localhost/", "localhost#",
                                 "localhost ", "[::1", "[::1]x", "[::1]@x", "[evil]", "localhost,evil"}) {
    EXPECT_EQ(refused({{"host", host}}), 421) << host;
    EXPECT_EQ(refused({{"host", "localhost"}, {"origin", "http://" + host}}), 403) << host;
  }
  EXPECT_EQ(refused({}), 400);
  EXPECT_EQ(refused({{"host", "localhost"}, {"host", "localhost"}}), 400);
}

TEST(Access, PagesOfOtherSitesAreNotTaken) {
  EXPECT_EQ(refused({{"host", "localhost"}, {"origin", "http://localhost:7711"}}), 0);
  EXPECT_EQ(refused({{"host", "localhost"}, {"origin", "https://evil.example"}}), 403);
  EXPECT_EQ(refused({{"host", "localhost"}, {"origin", "null"}}), 403);
  EXPECT_EQ(refused({{"host", "localhost"}, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(refused({{"host", "localhost"}, {"sec-fetch-site", "same-origin"}}), 0);
}

TEST(Access, ABodyIsJson) {
  EXPECT_EQ(refused({{"host", "localhost"}, {"content-type", "application/json; charset=utf-8"}}, "{}"), 0);
  EXPECT_EQ(refused({{"host", "localhost"}, {"content-type", "text/plain"}}, "{}"), 415);
  EXPECT_EQ(refused({{"host", "localhost"}}, "{}"), 415);
}

TEST(Access, ATokenStandsBehindBearer) {
  EXPECT_EQ(bearer_token({.headers = {{"authorization", "Bearer drv_a_b"}}}), "drv_a_b");
  EXPECT_EQ(bearer_token({.headers = {{"authorization", "bearer x"}}}), "x");
  EXPECT_EQ(bearer_token({.headers = {{"authorization", "Basic x"}}}), "");
  EXPECT_EQ(bearer_token({}), "");
}

}  // namespace
}  // namespace drover::server
