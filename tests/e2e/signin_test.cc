// Signing a browser in, with the real program and requests as a browser sends them.
#include <fmt/format.h>

#include <csignal>

#include "e2e/serving.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

using test::must;

class SigninE2eTest : public ServingTest {
 protected:
  struct Browser {
    std::string id;
    std::string cookie;
    std::string secret;
  };

  HttpResponse ask(const std::string& url, const std::string& method, const std::string& target,
                   HttpHeaders headers = {}, std::string body = {}) {
    const ServerAddress address = must(parse_server_url(url));
    HttpClient client(address.endpoint);
    headers.emplace_back("host", url.substr(url.find("://") + 3));
    if (!body.empty()) headers.emplace_back("content-type", "application/json");
    return must(client.exchange(
        {.method = method, .target = target, .body = std::move(body), .headers = std::move(headers)}, kHangs));
  }
  // The code of "URL/#in=CODE".
  static std::string code_in(const std::string& link) {
    const std::size_t begin = link.find("/#in=") + 5;
    return link.substr(begin, link.find_first_of(" \n", begin) - begin);
  }
  HttpResponse try_code(const std::string& url, const std::string& code) {
    return ask(url, "POST", "/v1/signins", {}, fmt::format(R"({{"code":"{}"}})", code));
  }
  Browser sign_in(const std::string& url, const std::string& code) {
    const HttpResponse created = try_code(url, code);
    EXPECT_EQ(created.status, 201) << created.body;
    const json::Value body = must(json::parse(created.body));
    const std::string set(created.header("set-cookie"));
    return {.id = at(body, "id"), .cookie = set.substr(0, set.find(';')), .secret = at(body, "secret")};
  }
  static HttpHeaders both(const Browser& browser) {
    return {{"cookie", browser.cookie}, {"drover-signin", browser.secret}};
  }
  int status_of_me(const std::string& url, HttpHeaders headers) {
    return ask(url, "GET", "/v1/me", std::move(headers)).status;
  }
};

TEST_F(SigninE2eTest, TheLinkOfAStoreSignsInAtItsServer) {
  const auto server = start_server({"--name", "prüfstand"});
  const Outcome printed = sandbox.drover({"dashboard"});
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_TRUE(printed.out.starts_with(url() + "/#in=")) << printed.out;
  const std::string code = code_in(printed.out);
  EXPECT_FALSE(contains(printed.err, code));
  const Browser browser = sign_in(url(), code);
  const json::Value me = must(json::parse(ask(url(), "GET", "/v1/me", both(browser)).body));
  EXPECT_EQ(at(me, "role"), "admin");
  EXPECT_EQ(at(*me.find("server"), "name"), "prüfstand");
  EXPECT_EQ(try_code(url(), code).status, 401) << "it works once";
  EXPECT_EQ(status_of_me(url(), {{"cookie", browser.cookie}}), 401);
  EXPECT_EQ(status_of_me(url(), {{"drover-signin", browser.secret}}), 401);
}

TEST_F(SigninE2eTest, TheLinkOfAServerHasTheRightsOfItsToken) {
  const auto server = start_server();
  use_server(create_token({"viewer", "--owner", "anna"}));
  const json::Value printed = sandbox.must_json({"dashboard", "--json"});
  EXPECT_TRUE(at(printed, "url").starts_with(url() + "/#in="));
  const Browser browser = sign_in(url(), at(printed, "code"));
  const json::Value me = must(json::parse(ask(url(), "GET", "/v1/me", both(browser)).body));
  EXPECT_EQ(at(me, "role"), "viewer");
  EXPECT_EQ(at(me, "owner"), "anna");
  EXPECT_EQ(json::dump(*me.find("rights")), R"(["read"])");
}

TEST_F(SigninE2eTest, ASignInOutlivesTheServerAndEndsWhenItIsRevoked) {
  auto server = start_server();
  const Browser browser = sign_in(url(), code_in(sandbox.must({"dashboard"})));
  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(kHangs), (Exit{.code = 0}));
  server = start_server();
  EXPECT_EQ(status_of_me(url(), both(browser)), 200);
  EXPECT_EQ(ask(url(), "DELETE", "/v1/signins/" + browser.id, both(browser)).status, 204);
  EXPECT_EQ(status_of_me(url(), both(browser)), 401);
  EXPECT_FALSE(contains(sandbox.must({"export", "-"}), browser.secret.substr(9)));
  EXPECT_FALSE(contains(sandbox.must({"export", "-"}), "sha256")) << "sign-ins stay out of a dump";
  EXPECT_EQ(sandbox.drover({"fsck"}).exit_code, 0);
}

// A browser sends the cookies of one port to every other port of the host.
TEST_F(SigninE2eTest, WhatAServerOnAnotherPortReceivesIsOfNoUseToIt) {
  const auto server = start_server();
  const Browser browser = sign_in(url(), code_in(sandbox.must({"dashboard"})));
  EXPECT_EQ(status_of_me(url(), {{"cookie", browser.cookie}}), 401);
  EXPECT_EQ(status_of_me(url(), {{"cookie", browser.cookie}, {"drover-signin", browser.id}}), 401);
  EXPECT_EQ(ask(url(), "POST", "/v1/tasks", {{"cookie", browser.cookie}}, R"({"type":"x"})").status, 401);
  EXPECT_EQ(ask(url(), "POST", "/v1/ws-tickets", {{"cookie", browser.cookie}}).status, 401);
  EXPECT_EQ(status_of_me(url(), both(browser)), 200);
}

TEST_F(SigninE2eTest, NothingIsDoneForAnotherSiteButALinkOpensThePage) {
  const auto server = start_server();
  const Browser browser = sign_in(url(), code_in(sandbox.must({"dashboard"})));
  HttpHeaders foreign = both(browser);
  foreign.emplace_back("sec-fetch-site", "cross-site");
  EXPECT_EQ(ask(url(), "POST", "/v1/tasks", foreign, R"({"type":"x"})").status, 403);
  EXPECT_EQ(ask(url(), "DELETE", "/v1/signins/" + browser.id, foreign).status, 403);
  EXPECT_EQ(ask(url(), "GET", "/v1/me", foreign).status, 403);
  const HttpHeaders link{{"sec-fetch-site", "cross-site"},
                         {"sec-fetch-mode", "navigate"},
                         {"sec-fetch-dest", "document"},
                         {"accept", "text/html,*/*;q=0.8"}};
  const HttpResponse page = ask(url(), "GET", "/tasks/0197b7d4-5c61-7cd5-8000-0123456789ab", link);
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
  EXPECT_EQ(page.header("cache-control"), "no-cache");
  EXPECT_EQ(ask(url(), "GET", "/v1/tasks", link).status, 403);
}

// With the dashboard or without: what is at the root says which.
TEST_F(SigninE2eTest, TheRootIsTheDashboardOrSaysThatThereIsNone) {
  const auto server = start_server();
  const HttpResponse root = ask(url(), "GET", "/");
  EXPECT_EQ(root.status, 200);
  if (root.content_type.starts_with("text/plain")) {
    EXPECT_TRUE(contains(root.body, "built without its dashboard"));
    return;
  }
  EXPECT_EQ(root.content_type, "text/html; charset=utf-8");
  const std::size_t begin = root.body.find("/assets/");
  ASSERT_NE(begin, std::string::npos) << root.body;
  const std::string name = root.body.substr(begin, root.body.find('"', begin) - begin);
  const HttpResponse plain = ask(url(), "GET", name);
  const HttpResponse zipped = ask(url(), "GET", name, {{"accept-encoding", "gzip"}});
  EXPECT_EQ(plain.status, 200) << name;
  EXPECT_EQ(plain.header("cache-control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(zipped.header("content-encoding"), "gzip");
  EXPECT_TRUE(zipped.body.starts_with("\x1f\x8b"));
  EXPECT_FALSE(contains(root.body, "%BASE%"));
}

TEST_F(SigninE2eTest, UpPrintsTheLinkIfThereIsADashboard) {
  sandbox.set("DROVER_STORE", sandbox.store_url());
  sandbox.write_file("drover.yaml", "local:\n  server: {name: of the file, colour: red}\n");
  sandbox.must({"trust"});
  const auto up = sandbox.start({"up", "--listen", "127.0.0.1:0"});
  const Millis end = mono_now() + kHangs;
  while (!contains(up->errors(), "up on") && mono_now() < end && !up->wait(Millis{20})) {
  }
  const std::string said = up->errors();
  const std::size_t begin = said.find("http://");
  ASSERT_NE(begin, std::string::npos) << said;
  const std::string server = said.substr(begin, said.find(';', begin) - begin);
  const bool has_dashboard = ask(server, "GET", "/").content_type.starts_with("text/html");
  EXPECT_EQ(contains(said, server + "/#in="), has_dashboard) << said;
  const Browser browser = sign_in(server, code_in(has_dashboard ? said : sandbox.must({"dashboard"})));
  const json::Value me = must(json::parse(ask(server, "GET", "/v1/me", both(browser)).body));
  EXPECT_EQ(json::dump(*me.find("server")->find("name")), R"("of the file")");
  EXPECT_EQ(at(*me.find("server"), "colour"), "red");
}

TEST_F(SigninE2eTest, APublicUrlIsInTheLink) {
  const auto server = start_server({"--public-url", "https://queue.example/drover/"});
  EXPECT_TRUE(sandbox.must({"dashboard"}).starts_with("https://queue.example/drover/#in="));
  EXPECT_TRUE(sandbox.must({"dashboard", "--server", "http://other.example"}).starts_with("http://other.example/#in="));
  for (const std::string bad : {"queue.example", "https://queue.example/v1", "https://queue.example/?x"}) {
    expect_refused(sandbox.drover({"serve", "--public-url", bad}), 2, "invalid_argument");
  }
  expect_refused(sandbox.drover({"serve", "--name", "two\nlines"}), 2, "invalid_argument");
}

TEST_F(SigninE2eTest, TheBrowserIsOpenedWithoutTheCodeInSight) {
  const auto server = start_server();
  std::filesystem::create_directory(sandbox.file("bin"));
  sandbox.write_file("bin/xdg-open", "#!/bin/sh\nprintf '%s\\n' \"$*\" > \"$DROVER_OPENED\"\n");
  std::filesystem::permissions(sandbox.file("bin/xdg-open"), std::filesystem::perms::owner_all);
  sandbox.set("PATH", sandbox.file("bin") + ":/usr/bin:/bin");
  sandbox.set("DROVER_OPENED", sandbox.file("opened"));
  const std::string code = code_in(sandbox.must({"dashboard", "--open"}));
  const auto opened = await_line(sandbox.file("opened"));
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->starts_with("file:///")) << *opened;
  EXPECT_FALSE(contains(*opened, code)) << "others can read the arguments of processes";
  EXPECT_EQ(sign_in(url(), code).id.size(), 8U);
}

}  // namespace
}  // namespace drover::e2e
