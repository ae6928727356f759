#include "server/dashboard.h"

#include <gtest/gtest.h>

#include "server/pages.h"
#include "support/must.h"

namespace drover::server {
namespace {

using test::must;

constexpr DashboardFile kFiles[] = {
    {"index.html", "<script src=\"%BASE%/assets/app.1.js\"></script><meta content=\"%BASE%\">", "zipped shell"},
    {"assets/app.1.js", "plain script", "zipped script"},
    {"assets/icon.2.svg", "<svg/>", ""},
    {"manifest.json", "{}", ""},
};

HttpRequest get(std::string target, HttpHeaders headers = {}) {
  return {.method = "GET", .target = std::move(target), .headers = std::move(headers)};
}

std::optional<HttpResponse> answer(const HttpRequest& request, std::string_view base = "") {
  return Dashboard(kFiles, base).answer(request, must(parse_target(request.target)));
}

const HttpHeaders kBrowser{{"accept", "text/html,application/xhtml+xml,*/*;q=0.8"}};

TEST(DashboardTest, EveryPageIsTheShell) {
  for (const std::string path : {"/", "/overview", "/tasks", "/tasks/0197b7d4-5c61-7cd5-8000-0123456789ab?tab=log",
                                 "/dlq/abc", "/v2", "/v1x", "/assetsx", "/%2e%2e/etc/passwd", "//v1/tasks"}) {
    const auto page = answer(get(path, kBrowser));
    ASSERT_TRUE(page) << path;
    EXPECT_EQ(page->status, 200);
    EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
    EXPECT_EQ(page->header("cache-control"), "no-cache");
    EXPECT_EQ(page->body, R"(<script src="/assets/app.1.js"></script><meta content="">)");
  }
}

TEST(DashboardTest, WhatProgramsAskForIsNoPage) {
  for (const std::string path : {"/v1", "/v1/tasks", "/%761/tasks", "/metrics", "/healthz", "/readyz", "/openapi.json",
                                 "/mcp", "/mcp/x", "/assets", "/assets/", "/assets/missing.js", "/assets/a/b"}) {
    EXPECT_FALSE(answer(get(path, kBrowser))) << path;
  }
  EXPECT_FALSE(answer({.method = "POST", .target = "/", .headers = kBrowser}));
  EXPECT_FALSE(answer({.method = "HEAD", .target = "/tasks", .headers = kBrowser}));
}

TEST(DashboardTest, OnlyWhoAcceptsHtmlGetsAPage) {
  EXPECT_TRUE(answer(get("/"))) << "the root says what this is";
  for (const std::string accept : {"", "*/*", "application/json", "text/html;q=0", "text/html ; q=0.000", "text/*",
                                   "text/htmlx", "text/html/", ",,,;;;", "\"text/html\"", "q=1;text/html"}) {
    EXPECT_FALSE(answer(get("/tasks", {{"accept", accept}}))) << accept;
  }
  for (const std::string accept : {"text/html", "TEXT/HTML", "*/*, text/html;q=0.1", "text/html;level=1;q=1",
                                   "\ttext/html\t", "text/html;q=", "text/html;;;"}) {
    EXPECT_TRUE(answer(get("/tasks", {{"accept", accept}}))) << accept;
  }
  EXPECT_FALSE(answer(get("/tasks", {{"accept", std::string(10'000, ',')}})));
  EXPECT_FALSE(answer(get("/tasks", {{"accept", "text/html;" + std::string(10'000, ';') + "q=0"}})));
}

TEST(DashboardTest, AnAssetStaysForEver) {
  const auto asset = answer(get("/assets/app.1.js"));
  ASSERT_TRUE(asset);
  EXPECT_EQ(asset->body, "plain script");
  EXPECT_EQ(asset->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(asset->header("cache-control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(asset->header("content-encoding"), "");
  EXPECT_EQ(asset->header("vary"), "accept-encoding");
  EXPECT_EQ(answer(get("/assets/icon.2.svg", {{"accept-encoding", "gzip"}}))->body, "<svg/>");
}

TEST(DashboardTest, AnAssetIsZippedForWhoAcceptsThat) {
  for (const std::string accept : {"gzip", "deflate, GZIP;q=0.5, br", "br;q=1.0, gzip;q=0.001"}) {
    const auto asset = answer(get("/assets/app.1.js", {{"accept-encoding", accept}}));
    EXPECT_EQ(asset->body, "zipped script") << accept;
    EXPECT_EQ(asset->header("content-encoding"), "gzip") << accept;
  }
  for (const std::string accept : {"", "br", "gzip;q=0", "identity", "x-gzip", "*"}) {
    EXPECT_EQ(answer(get("/assets/app.1.js", {{"accept-encoding", accept}}))->body, "plain script") << accept;
  }
}

TEST(DashboardTest, NamesAreOfTheListAndNothingElse) {
  for (const std::string path :
       {"/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/..%2findex.html", "/assets/index.html",
        "/assets/manifest.json", "/assets//app.1.js", "/assets/app.1.js/", "/assets/./app.1.js", "/assets/APP.1.js",
        "/assets/assets%2fapp.1.js", "/assets/%2fetc%2fpasswd", "/assets/app.1.js%00"}) {
    EXPECT_FALSE(answer(get(path))) << path;
  }
}

TEST(DashboardTest, HasThePathOfThePublicUrl) {
  EXPECT_EQ(answer(get("/"), "/drover")->body,
            R"(<script src="/drover/assets/app.1.js"></script><meta content="/drover">)");
}

TEST(DashboardTest, EverythingHasThePolicy) {
  for (const auto& response : {answer(get("/")), answer(get("/assets/app.1.js")), answer(get("/assets/icon.2.svg"))}) {
    EXPECT_EQ(response->header("content-security-policy"),
              "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
              "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
              "require-trusted-types-for 'script'; trusted-types 'none'");
    EXPECT_EQ(response->header("x-content-type-options"), "nosniff");
    EXPECT_EQ(response->header("referrer-policy"), "no-referrer");
  }
}

TEST(DashboardTest, SaysThatItWasNotBuilt) {
  const auto page = Dashboard({}, "").answer(get("/"), must(parse_target("/")));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->content_type, "text/plain; charset=utf-8");
  EXPECT_NE(page->body.find("DROVER_DASHBOARD"), std::string::npos);
}

TEST(Visit, IsAGetForAPageByAPerson) {
  const auto visit = [](std::string target, std::string method, std::string mode, std::string dest, std::string accept,
                        std::string body) {
    return is_visit({.method = std::move(method),
                     .target = std::move(target),
                     .body = std::move(body),
                     .headers = {{"sec-fetch-site", "cross-site"},
                                 {"sec-fetch-mode", std::move(mode)},
                                 {"sec-fetch-dest", std::move(dest)},
                                 {"accept", std::move(accept)}}});
  };
  EXPECT_TRUE(visit("/tasks/x?tab=log", "GET", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/v1/tasks", "GET", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/%76%31/tasks", "GET", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/openapi.json", "GET", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/assets/app.1.js", "GET", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/tasks", "POST", "navigate", "document", "text/html", ""));
  EXPECT_FALSE(visit("/tasks", "GET", "cors", "document", "text/html", ""));
  EXPECT_FALSE(visit("/tasks", "GET", "navigate", "iframe", "text/html", ""));
  EXPECT_FALSE(visit("/tasks", "GET", "navigate", "", "text/html", ""));
  EXPECT_FALSE(visit("/tasks", "GET", "navigate", "document", "*/*", ""));
  EXPECT_FALSE(visit("/tasks", "GET", "navigate", "document", "text/html", "{}"));
  EXPECT_FALSE(visit("/%zz", "GET", "navigate", "document", "text/html", ""));
}

}  // namespace
}  // namespace drover::server
