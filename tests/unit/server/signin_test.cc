// Browsers that sign in, against a server on a real socket and the tokens of a real store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "server/token_keeper.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/viewer.h"

namespace drover::server {
namespace {

using json::Value;
using test::must;

constexpr Millis kLong{30'000};
constexpr DashboardFile kFiles[] = {{"index.html", "the shell at %BASE%", ""}, {"assets/app.1.js", "script", ""}};

// What a browser has after it signed in.
struct Browser {
  std::string id;
  std::string cookie;  // "drover_signin_7711=…"
  std::string secret;

  [[nodiscard]] HttpHeaders both() const { return {{"cookie", cookie}, {"drover-signin", secret}}; }
};

class SigninTest : public ::testing::Test {
 protected:
  static ServerOptions options() {
    return {.listen = {"127.0.0.1:0"},
            .limits = {.failures = {.per_second = 0.001, .burst = 5}, .local_factor = 1},
            .version = "9.9",
            .name = {.name = "test", .colour = "teal"},
            .dashboard = kFiles};
  }
  void start(const ServerOptions& options) {
    server_ = must(Server::start(engine_, administration_, keeper_, options));
    const ServerAddress address = must(parse_server_url(server_->addresses().front()));
    endpoint_ = address.endpoint;
    host_ = server_->addresses().front().substr(7);
    client_.emplace(endpoint_);
  }
  SigninTest() { start(options()); }

  HttpResponse ask(const std::string& method, const std::string& target, HttpHeaders headers = {},
                   std::string body = {}) {
    if (std::ranges::find(headers, "host", &HttpHeaders::value_type::first) == headers.end()) {
      headers.emplace_back("host", host_);
    }
    if (!body.empty()) headers.emplace_back("content-type", "application/json");
    return must(client_->exchange(
        {.method = method, .target = target, .body = std::move(body), .headers = std::move(headers)}, kLong));
  }
  static HttpHeaders bearer_of(const CreatedToken& token) { return {{"authorization", "Bearer " + token.text}}; }
  CreatedToken create_token(Role role, std::optional<std::string> owner = std::nullopt) {
    return must(administration_.create_token({.role = role, .owner = std::move(owner)}));
  }
  std::string code_for(const CreatedToken& token) {
    return text(must(json::parse(ask("POST", "/v1/signin-codes", bearer_of(token)).body)), "code");
  }
  static Browser browser_of(const HttpResponse& created) {
    EXPECT_EQ(created.status, 201) << created.body;
    const Value body = must(json::parse(created.body));
    const std::string set(created.header("set-cookie"));
    return {.id = text(body, "id"), .cookie = set.substr(0, set.find(';')), .secret = text(body, "secret")};
  }
  Browser sign_in(const CreatedToken& token) {
    return browser_of(ask("POST", "/v1/signins", {}, fmt::format(R"({{"token":"{}"}})", token.text)));
  }
  int status_of_me(HttpHeaders headers) { return ask("GET", "/v1/me", std::move(headers)).status; }
  std::string ticket_for(const Browser& browser) {
    return text(must(json::parse(ask("POST", "/v1/ws-tickets", browser.both()).body)), "ticket");
  }
  Viewer open_socket(const std::string& first_message) {
    Viewer viewer = Viewer::of_socket(endpoint_, "?snapshot=false", "Origin: http://localhost\r\n");
    viewer.say(first_message);
    return viewer;
  }
  Viewer watch(const Browser& browser) { return open_socket(fmt::format(R"({{"ticket":"{}"}})", ticket_for(browser))); }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  TokenBook book_{*store_, rng_};
  TokenKeeper keeper_{book_};
  CreatedToken operator_ = create_token(Role::kOperator);
  std::unique_ptr<Server> server_;
  Endpoint endpoint_;
  std::string host_;
  std::optional<HttpClient> client_;
};

TEST_F(SigninTest, ACodeBecomesACookieAndASecret) {
  const HttpResponse made = ask("POST", "/v1/signin-codes", bearer_of(operator_));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.header("cache-control"), "no-store");
  const Value code = must(json::parse(made.body));
  EXPECT_EQ(text(code, "url"), fmt::format("http://{}/#in={}", host_, text(code, "code")));

  const std::string body = fmt::format(R"({{"code":"{}"}})", text(code, "code"));
  const HttpResponse created = ask("POST", "/v1/signins", {{"user-agent", "a browser"}}, body);
  const Browser browser = browser_of(created);
  EXPECT_TRUE(created.header("set-cookie").find("; HttpOnly; SameSite=Strict") != std::string_view::npos);
  EXPECT_TRUE(browser.cookie.starts_with("drover_signin_" + host_.substr(host_.find(':') + 1) + "="));
  EXPECT_EQ(created.body.find(browser.cookie.substr(browser.cookie.find('=') + 1)), std::string::npos)
      << "scripts do not learn the cookie";

  const Value me = must(json::parse(ask("GET", "/v1/me", browser.both()).body));
  EXPECT_EQ(text(me, "role"), "operator");
  EXPECT_EQ(text(me, "token_id"), operator_.info.id);
  EXPECT_EQ(text(me, "signin_id"), browser.id);
  EXPECT_EQ(json::dump(*me.find("rights")), R"(["read","produce","work","read_policy","operate"])");
  EXPECT_EQ(json::dump(*me.find("server")), R"({"name":"test","colour":"teal","version":"9.9"})");

  EXPECT_EQ(ask("POST", "/v1/signins", {}, body).status, 401) << "a code works once";
}

TEST_F(SigninTest, NeitherHalfCountsAlone) {
  const Browser browser = sign_in(operator_);
  EXPECT_EQ(status_of_me(browser.both()), 200);
  EXPECT_EQ(status_of_me({{"cookie", browser.cookie}}), 401);
  EXPECT_EQ(status_of_me({{"drover-signin", browser.secret}}), 401);
  EXPECT_EQ(status_of_me({{"cookie", browser.cookie}, {"drover-signin", "x"}}), 401);
  const std::string value = browser.cookie.substr(browser.cookie.find('=') + 1);
  EXPECT_EQ(status_of_me({{"authorization", "Bearer " + signin_text(value, browser.secret)}}), 401)
      << "the cookie comes as a cookie only";
  // As a server on another port would use what a browser sends it: it has no secret. Nor is the cookie read here under
  // the name that it has there.
  EXPECT_EQ(status_of_me({{"cookie", "drover_signin_1=" + value}, {"drover-signin", browser.secret}}), 401);
}

TEST_F(SigninTest, TwoServersOfOneStoreKnowEachOthersSignIns) {
  const Browser browser = sign_in(operator_);
  TokenBook book(*store_, rng_);
  TokenKeeper keeper(book);
  const auto other = must(Server::start(engine_, administration_, keeper, options()));
  HttpClient client(must(parse_server_url(other->addresses().front())).endpoint);
  HttpHeaders headers = browser.both();
  headers.emplace_back("host", host_);  // both behind one proxy
  EXPECT_EQ(must(client.exchange({.method = "GET", .target = "/v1/me", .body = {}, .headers = headers}, kLong)).status,
            200);
}

TEST_F(SigninTest, BadOrdersAreRefused) {
  for (const std::string body : {R"({})", R"({"code":"a","token":"b"})", R"({"code":1})", R"({"coed":"a"})", "[]"}) {
    EXPECT_EQ(ask("POST", "/v1/signins", {}, body).status, 400) << body;
  }
  EXPECT_EQ(ask("POST", "/v1/signin-codes?x=1", bearer_of(operator_)).status, 400);
  EXPECT_EQ(ask("POST", "/v1/signin-codes").status, 401);
}

TEST_F(SigninTest, FailedAttemptsAreSlowedDown) {
  const Browser browser = sign_in(operator_);
  EXPECT_EQ(status_of_me(browser.both()), 200);
  int status = 0;
  for (int i = 0; i < 6; ++i) status = ask("POST", "/v1/signins", {}, R"({"code":"wrong"})").status;
  EXPECT_EQ(status, 429);
  EXPECT_EQ(ask("POST", "/v1/signins", {}, fmt::format(R"({{"token":"{}"}})", operator_.text)).status, 429);
  EXPECT_EQ(status_of_me(browser.both()), 200) << "who is signed in is not held up";
}

TEST_F(SigninTest, SigningOutEndsItAndItsSockets) {
  const Browser browser = sign_in(operator_);
  const Browser other = sign_in(operator_);
  Viewer viewer = watch(browser);
  Viewer stays = watch(other);
  must(engine_.enqueue_one({.type = "work"}));
  EXPECT_FALSE(viewer.next("events").is_null());
  EXPECT_FALSE(stays.next("events").is_null());

  const HttpResponse ended = ask("DELETE", "/v1/signins/" + browser.id, browser.both());
  EXPECT_EQ(ended.status, 204);
  EXPECT_TRUE(ended.header("set-cookie").starts_with(browser.cookie.substr(0, browser.cookie.find('=')) + "=;"));
  EXPECT_EQ(status_of_me(browser.both()), 401) << "at once";
  while (!viewer.next().is_null()) {
  }
  EXPECT_EQ(viewer.close_code(), 1008);
  EXPECT_EQ(status_of_me(other.both()), 200);
  must(engine_.enqueue_one({.type = "work"}));
  EXPECT_FALSE(stays.next("events").is_null()) << "nobody else is sent away";
}

TEST_F(SigninTest, RevokingTheTokenEndsItAndItsSockets) {
  const CreatedToken admin = create_token(Role::kAdmin);
  const Browser browser = sign_in(operator_);
  Viewer viewer = watch(browser);
  must(engine_.enqueue_one({.type = "work"}));
  EXPECT_FALSE(viewer.next("events").is_null());
  EXPECT_EQ(ask("DELETE", "/v1/tokens/" + operator_.info.id, bearer_of(admin)).status, 200);
  EXPECT_EQ(status_of_me(browser.both()), 401);
  while (!viewer.next().is_null()) {
  }
  EXPECT_EQ(viewer.close_code(), 1008);
}

TEST_F(SigninTest, ATicketOpensOneSocket) {
  const Browser browser = sign_in(operator_);
  const std::string message = fmt::format(R"({{"ticket":"{}"}})", ticket_for(browser));
  Viewer first = open_socket(message);
  must(engine_.enqueue_one({.type = "work"}));
  EXPECT_FALSE(first.next("events").is_null());
  for (const std::string& bad :
       {message, std::string(R"({"ticket":"x"})"), std::string(R"({"ticket":"x","token":"y"})"), std::string("{}")}) {
    Viewer refused = open_socket(bad);
    EXPECT_TRUE(refused.next().is_null()) << bad;
    EXPECT_EQ(refused.close_code(), 1008) << bad;
  }
  const std::string value = browser.cookie.substr(browser.cookie.find('=') + 1);
  Viewer as_token = open_socket(fmt::format(R"({{"token":"{}"}})", signin_text(value, browser.secret)));
  EXPECT_TRUE(as_token.next().is_null());
}

TEST_F(SigninTest, OwnSignInsAreListedAndEndedAndAnAdminsAreAll) {
  const CreatedToken anna = create_token(Role::kViewer, "anna");
  const CreatedToken ben = create_token(Role::kViewer, "ben");
  const CreatedToken admin = create_token(Role::kAdmin);
  const Browser annas = sign_in(anna);
  const Browser bens = sign_in(ben);
  const std::string list = ask("GET", "/v1/signins", annas.both()).body;
  EXPECT_NE(list.find(annas.id), std::string::npos);
  EXPECT_NE(list.find(R"("is_current":true)"), std::string::npos);
  EXPECT_EQ(list.find(bens.id), std::string::npos);
  EXPECT_EQ(list.find("sha256"), std::string::npos);
  EXPECT_EQ(ask("DELETE", "/v1/signins/" + bens.id, annas.both()).status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/signins/nothing1", annas.both()).status, 404);
  EXPECT_EQ(status_of_me(bens.both()), 200);
  EXPECT_NE(ask("GET", "/v1/signins", bearer_of(admin)).body.find(bens.id), std::string::npos);
  const HttpResponse ended = ask("DELETE", "/v1/signins/" + bens.id, bearer_of(admin));
  EXPECT_EQ(ended.status, 204);
  EXPECT_EQ(ended.header("set-cookie"), "") << "it is somebody else's";
  EXPECT_EQ(status_of_me(bens.both()), 401);
}

TEST_F(SigninTest, ASignInSeesWhatItsTokenSees) {
  const CreatedToken anna = create_token(Role::kViewer, "anna");
  must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  const Browser browser = sign_in(anna);
  EXPECT_EQ(ask("GET", "/v1/tasks", browser.both()).body, "{\"tasks\":[],\"cursor\":null,\"searched\":null}\n");
  EXPECT_EQ(ask("POST", "/v1/tasks", browser.both(), R"({"type":"work"})").status, 403);
  EXPECT_EQ(ask("GET", "/v1/tokens", browser.both()).status, 403);
}

TEST_F(SigninTest, NothingIsDoneForAnotherSite) {
  const Browser browser = sign_in(operator_);
  const auto with = [&](HttpHeaders more) {
    HttpHeaders headers = browser.both();
    headers.insert(headers.end(), more.begin(), more.end());
    return headers;
  };
  const std::string task = R"({"type":"work"})";
  EXPECT_EQ(ask("POST", "/v1/tasks", with({{"sec-fetch-site", "cross-site"}}), task).status, 403);
  EXPECT_EQ(ask("POST", "/v1/tasks", with({{"origin", "http://evil.example"}}), task).status, 403);
  EXPECT_EQ(ask("POST", "/v1/signins", {{"sec-fetch-site", "cross-site"}}, R"({"code":"x"})").status, 403);
  EXPECT_EQ(ask("OPTIONS", "/v1/tasks", {{"origin", "http://localhost:1"}}).status, 405) << "no preflight succeeds";
  const HttpHeaders visit{{"sec-fetch-site", "cross-site"},
                          {"sec-fetch-mode", "navigate"},
                          {"sec-fetch-dest", "document"},
                          {"accept", "text/html"}};
  EXPECT_EQ(ask("GET", "/tasks/0197b7d4-5c61-7cd5-8000-0123456789ab", visit).body, "the shell at ");
  EXPECT_EQ(ask("GET", "/v1/tasks", with(visit)).status, 403);
  EXPECT_EQ(ask("GET", "/tasks", {{"sec-fetch-site", "cross-site"}, {"accept", "text/html"}}).status, 403);
  EXPECT_EQ(ask("GET", "/assets/app.1.js", {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}).status,
            403);
  HttpHeaders foreign = visit;
  foreign.emplace_back("host", "evil.example");
  EXPECT_EQ(ask("GET", "/tasks", foreign).status, 421);
}

TEST_F(SigninTest, APublicUrlIsAllowedAndHasAPath) {
  ServerOptions behind = options();
  behind.public_url = must(parse_public_url("https://queue.example/drover"));
  start(behind);
  const HttpHeaders proxied{{"host", "queue.example"}, {"origin", "https://queue.example"}};
  EXPECT_EQ(ask("GET", "/drover/", proxied).body, "the shell at /drover");
  EXPECT_EQ(ask("GET", "/", proxied).body, "the shell at /drover") << "a proxy may take the path away";
  EXPECT_EQ(ask("GET", "/drover/assets/app.1.js", proxied).body, "script");
  EXPECT_EQ(ask("GET", "/drover/v1/me", proxied).status, 401);
  const HttpResponse created =
      ask("POST", "/drover/v1/signins", proxied, fmt::format(R"({{"token":"{}"}})", operator_.text));
  EXPECT_TRUE(created.header("set-cookie").starts_with("__Secure-drover_signin="));
  EXPECT_NE(created.header("set-cookie").find("; Path=/drover;"), std::string_view::npos);
  HttpHeaders headers = browser_of(created).both();
  headers.emplace_back("host", "queue.example");
  EXPECT_EQ(ask("GET", "/drover/v1/me", headers).status, 200);
  const Value code = must(json::parse(ask("POST", "/v1/signin-codes", bearer_of(operator_)).body));
  EXPECT_TRUE(text(code, "url").starts_with("https://queue.example/drover/#in="));
}

TEST_F(SigninTest, PagesAndFilesNeedNoToken) {
  EXPECT_EQ(ask("GET", "/").body, "the shell at ");
  EXPECT_EQ(ask("GET", "/overview", {{"accept", "text/html"}}).body, "the shell at ");
  EXPECT_EQ(ask("GET", "/overview").status, 404);
  EXPECT_EQ(ask("GET", "/assets/app.1.js").body, "script");
  EXPECT_EQ(ask("GET", "/assets/../v1/tasks").status, 404);
  EXPECT_EQ(ask("GET", "/v1/nothing", {{"accept", "text/html"}}).status, 404);
}

}  // namespace
}  // namespace drover::server
