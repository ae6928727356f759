#include "server/frontage.h"

#include <gtest/gtest.h>

#include "engine/token_document.h"
#include "net/neighbourhood.h"
#include "support/must.h"

namespace drover::server {
namespace {

using test::must;

const Frontage kPlain{.address = "http://127.0.0.1:7711"};
const Frontage kTls{.has_tls = true};

Frontage behind(std::string_view url) {
  return {.public_url = must(parse_public_url(url))};
}

HttpRequest request(HttpHeaders headers) {
  return {.method = "POST", .target = "/v1/signins", .headers = std::move(headers)};
}

TEST(PublicUrlTest, HasASchemeAHostAndPerhapsAPath) {
  EXPECT_EQ(must(parse_public_url("https://Example.org")), (PublicUrl{"https", "example.org", ""}));
  EXPECT_EQ(must(parse_public_url("https://example.org/")), (PublicUrl{"https", "example.org", ""}));
  EXPECT_EQ(must(parse_public_url("HTTP://[::1]:8080/a/b-c/")), (PublicUrl{"http", "[::1]:8080", "/a/b-c"}));
  for (const std::string bad : {"",
                                "example.org",
                                "ftp://example.org",
                                "https://",
                                "https:///x",
                                "https://a b",
                                "https://me@example.org",
                                "https://example.org:x",
                                "https://example.org//",
                                "https://example.org/a//b",
                                "https://example.org/../x",
                                "https://example.org/.",
                                "https://example.org/a?b",
                                "https://example.org/a#b",
                                "https://example.org/a%2fb",
                                "https://example.org/\"><script>",
                                "https://example.org/v1",
                                "https://example.org/assets/x",
                                "https://example.org/a;b",
                                "https://example.org/a\nb"}) {
    EXPECT_FALSE(parse_public_url(bad)) << bad;
  }
  EXPECT_FALSE(parse_public_url("https://example.org/" + std::string(200, 'x')));
}

TEST(PublicUrlTest, ItsPathIsTakenAwayIfTheProxyHasLeftIt) {
  const PublicUrl url = must(parse_public_url("https://example.org/drover"));
  EXPECT_EQ(without_path(url, "/drover/v1/tasks?x=1"), "/v1/tasks?x=1");
  EXPECT_EQ(without_path(url, "/drover"), "/");
  EXPECT_EQ(without_path(url, "/drover/"), "/");
  EXPECT_EQ(without_path(url, "/v1/tasks"), "/v1/tasks");
  EXPECT_EQ(without_path(url, "/droverx/v1"), "/droverx/v1");
  EXPECT_EQ(without_path(must(parse_public_url("https://example.org")), "/drover"), "/drover");
}

TEST(SigninCookie, KnowsThePortBecauseCookiesDoNot) {
  EXPECT_EQ(set_signin_cookie(kPlain, request({{"host", "127.0.0.1:7711"}}), "c"),
            "drover_signin_7711=c; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
  EXPECT_TRUE(set_signin_cookie(kPlain, request({{"host", "[::1]:80"}}), "c").starts_with("drover_signin_80=c;"));
  EXPECT_TRUE(set_signin_cookie(kPlain, request({{"host", "[::1]"}}), "c").starts_with("drover_signin=c;"));
  EXPECT_EQ(set_signin_cookie(kPlain, request({{"host", "localhost"}}), ""),
            "drover_signin=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
}

TEST(SigninCookie, IsBoundToTheHostOverTls) {
  const std::string secure = "__Host-drover_signin=c; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure";
  EXPECT_EQ(set_signin_cookie(kTls, request({{"host", "queue.example"}}), "c"), secure);
  EXPECT_EQ(set_signin_cookie(behind("https://queue.example"), request({{"host", "queue.example"}}), "c"), secure);
  // A proxy that does not hand the name on, but the browser's Origin.
  EXPECT_TRUE(set_signin_cookie(behind("https://queue.example"),
                                request({{"host", "127.0.0.1:7711"}, {"origin", "https://queue.example"}}), "c")
                  .starts_with("__Host-drover_signin_7711=c;"));
  // Not through the proxy.
  EXPECT_TRUE(set_signin_cookie(behind("https://queue.example"), request({{"host", "127.0.0.1:7711"}}), "c")
                  .starts_with("drover_signin_7711=c; Path=/;"));
}

TEST(SigninCookie, IsForThePathOfThePublicUrl) {
  EXPECT_EQ(set_signin_cookie(behind("https://queue.example/drover"),
                              request({{"host", "queue.example"}, {"origin", "https://queue.example"}}), "c"),
            "__Secure-drover_signin=c; Path=/drover; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure");
  EXPECT_TRUE(set_signin_cookie(behind("http://queue.example/drover"), request({{"host", "queue.example"}}), "c")
                  .starts_with("drover_signin=c; Path=/drover;"));
}

TEST(Credentials, AreATokenOrBothHalves) {
  const std::string both = signin_text("cookie", "secret");
  EXPECT_EQ(credentials_of(request({{"authorization", "Bearer drv_x"}})), "drv_x");
  EXPECT_EQ(credentials_of(request({{"host", "h"}, {"cookie", "drover_signin=cookie"}})), "") << "a cookie alone";
  EXPECT_EQ(credentials_of(request({{"host", "h"}, {"drover-signin", "secret"}})), signin_text("", "secret"));
  for (const std::string cookies :
       {"drover_signin_1=cookie", "a=b; drover_signin_1=cookie", "drover_signin_2=x; drover_signin_1=cookie; c=d",
        "__Host-drover_signin_1=cookie; drover_signin_1=x", "__Secure-drover_signin_1=cookie"}) {
    EXPECT_EQ(credentials_of(request({{"host", "h:1"}, {"cookie", cookies}, {"drover-signin", "secret"}})), both)
        << cookies;
  }
  for (const std::string cookies : {"", ";;;", "drover_signin=cookie", "drover_signin_11=cookie",
                                    "xdrover_signin_1=cookie", "drover_signin_1", "DROVER_SIGNIN_1=cookie"}) {
    EXPECT_EQ(credentials_of(request({{"host", "h:1"}, {"cookie", cookies}, {"drover-signin", "secret"}})),
              signin_text("", "secret"))
        << cookies;
  }
}

TEST(Credentials, OfASignInDoNotComeAsAToken) {
  const std::string both = signin_text("cookie", "secret");
  EXPECT_NE(credentials_of(request({{"authorization", "Bearer " + both}})), both);
  EXPECT_NE(credentials_of_token(both), both);
  // A header that is no bearer's is not made good by a sign-in.
  EXPECT_EQ(credentials_of(request(
                {{"host", "h"}, {"authorization", "Basic x"}, {"cookie", "drover_signin=c"}, {"drover-signin", "s"}})),
            "");
}

TEST(Frontage, ItsUrlIsThePublicOneOrTheOneThatWasAsked) {
  EXPECT_EQ(url_for(kPlain, request({{"host", "localhost:7711"}})), "http://localhost:7711");
  EXPECT_EQ(url_for(kTls, request({{"host", "queue.example"}})), "https://queue.example");
  EXPECT_EQ(url_for(behind("https://queue.example/drover/"), request({{"host", "x"}})), "https://queue.example/drover");
  HttpRequest by_socket = request({{"host", "drover"}});
  by_socket.peer = kUnixPeer;
  EXPECT_EQ(url_for(kPlain, by_socket), "http://127.0.0.1:7711");
  EXPECT_EQ(url_for({}, by_socket), "");
  EXPECT_EQ(signin_link("https://queue.example/drover", "CODE"), "https://queue.example/drover/#in=CODE");
}

}  // namespace
}  // namespace drover::server
