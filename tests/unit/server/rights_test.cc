// Every route for every role and owner, over HTTP: what a token does not allow is refused, and what belongs to others
// is not there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "engine/sweepers.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "server/api.h"
#include "server/openapi.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"

namespace drover::server {
namespace {

using test::must;

constexpr Millis kLong{30'000};

// Who may use a route. `own`: a caller with an owner finds the task only if it is theirs.
struct Expected {
  std::set<std::string> roles;
  bool own = false;
  std::string body = {};
};

const std::set<std::string> kReaders{"viewer", "producer", "operator", "admin"};
const std::set<std::string> kProducers{"producer", "operator", "admin"};
const std::set<std::string> kWorkers{"worker", "operator", "admin"};
const std::set<std::string> kOperators{"operator", "admin"};
const std::set<std::string> kEverybody{"viewer", "producer", "worker", "operator", "admin"};
const std::set<std::string> kPolicyReaders{"producer", "worker", "operator", "admin"};
const std::string kRegistration = R"({"id":"w","version":"1","serves":[{"queue":"work"}]})";
constexpr std::string_view kLease = R"("lease_id":"00000000000000000000000000000001")";

const std::map<std::string, Expected>& expected_rights() {
  static const std::map<std::string, Expected> all{
      {"POST /v1/tasks", {kProducers, false, R"({"type":"work"})"}},
      {"GET /v1/tasks", {kReaders}},
      {"GET /v1/tasks/{id}", {kReaders, true}},
      {"PATCH /v1/tasks/{id}", {kProducers, true, R"({"priority":3})"}},
      {"DELETE /v1/tasks/{id}", {kOperators}},
      {"GET /v1/tasks/{id}/wait", {kReaders, true}},
      {"GET /v1/tasks/{id}/parents/{parent}", {kEverybody, true}},
      {"GET /v1/tasks/{id}/runs", {kReaders, true}},
      {"GET /v1/tasks/{id}/log", {kReaders, true}},
      {"GET /v1/tasks/{id}/transcript", {kReaders, true}},
      {"GET /v1/tasks/{id}/explain", {kReaders, true}},
      {"GET /v1/tasks/{id}/graph", {kReaders, true}},
      {"GET /v1/tasks/{id}/events", {kReaders, true}},
      {"POST /v1/tasks/{id}/cancel", {kProducers, true}},
      {"GET /v1/tasks/{id}/cancel", {kProducers, true}},
      {"POST /v1/tasks/{id}/retry", {kOperators}},
      {"POST /v1/tasks/{id}/escalate", {kOperators, false, R"({"to":"me"})"}},
      {"POST /v1/tasks/{id}/children", {kWorkers, false, R"({"type":"work"})"}},
      {"POST /v1/tasks/{id}/complete", {kWorkers, false, fmt::format("{{{}}}", kLease)}},
      {"POST /v1/tasks/{id}/fail", {kWorkers, false, fmt::format(R"({{{},"class":"timeout"}})", kLease)}},
      {"POST /v1/tasks/{id}/release", {kWorkers, false, fmt::format("{{{}}}", kLease)}},
      {"POST /v1/tasks/{id}/suspend", {kWorkers, false, fmt::format("{{{}}}", kLease)}},
      {"POST /v1/tasks/{id}/cancelled", {kWorkers, false, fmt::format("{{{}}}", kLease)}},
      {"POST /v1/tasks/{id}/progress", {kWorkers, false, fmt::format(R"({{{},"percent":1}})", kLease)}},
      {"POST /v1/tasks/{id}/log", {kWorkers, false, fmt::format(R"({{{},"chunks":[{{"text":"x"}}]}})", kLease)}},
      {"POST /v1/tasks/{id}/usage", {kWorkers, false, fmt::format(R"({{{},"usage":{{"turns":1}}}})", kLease)}},
      {"POST /v1/tasks/{id}/provider", {kWorkers, false, fmt::format("{{{}}}", kLease)}},
      {"POST /v1/tasks/{id}/checkpoint", {kWorkers, false, fmt::format(R"({{{},"value":1}})", kLease)}},
      {"POST /v1/settlements", {kWorkers, false, R"({"items":[]})"}},
      {"POST /v1/workers", {kWorkers, false, kRegistration}},
      {"GET /v1/workers", {kOperators}},
      {"DELETE /v1/workers/{id}", {kWorkers}},
      {"POST /v1/workers/{id}/claim", {kWorkers, false, R"({"serves":[{"queue":"work"}]})"}},
      {"POST /v1/workers/{id}/heartbeat", {kWorkers, false, R"({"leases":[]})"}},
      {"POST /v1/workers/{id}/drain", {kOperators}},
      {"POST /v1/backlog", {kWorkers, false, R"({"serves":[{"queue":"work"}]})"}},
      {"POST /v1/stalled", {kOperators, false, R"({"max_age_ms":60000})"}},
      {"GET /v1/gates", {kReaders}},
      {"POST /v1/gates/{name}", {kOperators, false, R"({"action":"open"})"}},
      {"GET /v1/queues", {kReaders}},
      {"POST /v1/bulk", {kReaders, false, R"({"verb":"cancel","filter":{"type":"none"},"dry_run":true})"}},
      {"GET /v1/bulk", {kReaders}},
      {"GET /v1/bulk/{id}", {kReaders}},
      {"POST /v1/bulk/{id}/stop", {kProducers}},
      {"GET /v1/dlq", {kReaders}},
      {"GET /v1/stats", {kReaders}},
      {"GET /v1/stuck", {kReaders}},
      {"GET /v1/usage", {kReaders}},
      {"GET /v1/stats/history", {kOperators}},
      {"GET /v1/alerts", {kOperators}},
      {"GET /v1/alerts/history", {kOperators}},
      {"POST /v1/alerts/{key}/snooze", {kOperators, false, R"({"for":"1h"})"}},
      {"GET /v1/budgets", {kReaders}},
      {"POST /v1/budgets/{name}/raise", {kOperators, false, R"({"unit":"usd","amount":1})"}},
      {"GET /v1/sessions", {kReaders}},
      {"GET /v1/sessions/{owner}/{name}", {kReaders, true}},
      {"POST /v1/sessions/{owner}/{name}/reset", {kProducers, true}},
      {"GET /v1/conversations", {kProducers}},
      {"GET /v1/conversations/{key}", {kProducers}},
      {"GET /v1/conversations/{key}/changes", {kProducers}},
      {"POST /v1/conversations/{key}/items", {kProducers, false, R"({"item_key":"a","kind":"message"})"}},
      {"DELETE /v1/conversations/{key}/items/{id}", {kProducers}},
      {"POST /v1/conversations/{key}/dequeue", {kProducers}},
      {"POST /v1/conversations/{key}/consume", {kProducers, false, R"({"n":1})"}},
      {"POST /v1/conversations/{key}/ack", {kProducers, false, R"({"batch_id":"batch-1"})"}},
      {"POST /v1/conversations/{key}/clear", {kProducers, false, R"({"reason":"error"})"}},
      {"POST /v1/conversations/{key}/consumer", {kProducers}},
      {"DELETE /v1/conversations/{key}/consumer", {kProducers}},
      {"POST /v1/conversations/{key}/mirror", {kProducers, false, R"({"lease_id":"x","from_op":1,"ops":[]})"}},
      {"GET /v1/questions", {kReaders}},
      {"GET /v1/questions/{id}", {kEverybody}},
      {"POST /v1/questions/{id}/answer", {kProducers, false, R"({"value":"yes"})"}},
      {"POST /v1/questions/{id}/withdraw", {kProducers}},
      {"POST /v1/tasks/{id}/questions",
       {kWorkers, false, fmt::format(R"({{{},"question":{{"text":"Shall I?"}}}})", kLease)}},
      {"POST /v1/tasks/{id}/answers",
       {kWorkers, false,
        fmt::format(R"({{{},"question_id":"01920f5e-7a3c-7def-8123-456789abcdef","value":"yes"}})", kLease)}},
      {"GET /v1/views", {kReaders}},
      {"PUT /v1/views/{name}", {kReaders, false, R"({"query":"state:failed"})"}},
      {"DELETE /v1/views/{name}", {kReaders}},
      {"GET /v1/audit", {{"admin"}}},
      {"GET /v1/config", {kPolicyReaders}},
      {"GET /v1/config/versions", {kPolicyReaders}},
      {"GET /v1/config/versions/{version}", {kPolicyReaders}},
      {"PUT /v1/config", {{"admin"}, false, R"({"version":0,"document":{}})"}},
      {"POST /v1/fsck", {kOperators}},
      {"POST /v1/tokens", {{"admin"}, false, R"({"role":"viewer"})"}},
      {"GET /v1/tokens", {{"admin"}}},
      {"DELETE /v1/tokens/{id}", {{"admin"}}},
      {"POST /v1/signin-codes", {kEverybody}},
      {"POST /v1/signins", {{}, false, R"({"code":"wrong"})"}},
      {"GET /v1/signins", {kEverybody}},
      {"DELETE /v1/signins/{id}", {kEverybody}},
      {"GET /v1/me", {kEverybody}},
      {"POST /v1/ws-tickets", {kEverybody}},
      {"GET /v1/store", {kOperators}},
      {"POST /v1/store/accept-regression", {{"admin"}}},
      {"GET /v1/fleet", {kOperators}},
      {"GET /v1/server", {kEverybody}},
      {"GET /v1/dump/head", {{"admin"}}},
      {"GET /v1/dump/ids", {{"admin"}}},
      {"POST /v1/dump/tasks", {{"admin"}, false, R"({"ids":[]})"}},
      {"GET /v1/dump/events", {{"admin"}}},
      {"GET /v1/dump/conversations", {{"admin"}}},
      {"POST /v1/dump/imports", {{"admin"}}},
      {"PUT /v1/dump/imports/{id}", {{"admin"}, false, R"({"header":{}})"}},
      {"POST /v1/dump/imports/{id}/finish", {{"admin"}}},
      {"GET /v1/events", {kReaders}},
      {"GET /v1/events/last", {kReaders}},
      {"GET /v1/ws", {kReaders}},
      {"GET /v1/changes", {kEverybody}},
      {"POST /mcp", {kReaders, false, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"}},
      {"GET /openapi.json", {}},
      {"GET /metrics", {kOperators}},
      {"GET /healthz", {}},
      {"GET /readyz", {}},
  };
  return all;
}

// What openapi.yaml says of "GET /v1/tasks"; null if it says nothing.
const json::Value* describe(const std::string& name) {
  static const json::Value document = must(json::parse(openapi_json()));
  const std::size_t space = name.find(' ');
  const json::Value* path = document.find("paths")->find(name.substr(space + 1));
  std::string method = name.substr(0, space);
  std::ranges::transform(method, method.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return path != nullptr ? path->find(method) : nullptr;
}

class Rights : public ::testing::Test {
 protected:
  Rights() : client_(must(parse_server_url(server_->addresses().front())).endpoint) {
    annas_ = must(engine_.enqueue_one({.type = "work", .owner = "anna", .session = "all"})).id;
  }

  HttpResponse ask(const std::string& method, const std::string& target, const std::string& token,
                   std::string body = {}) {
    HttpHeaders headers{{"host", "localhost"}, {"drover-lease", "00000000000000000000000000000001"}};
    if (!token.empty()) headers.emplace_back("authorization", "Bearer " + token);
    return must(client_.exchange(
        {.method = method, .target = target, .body = std::move(body), .headers = std::move(headers)}, kLong));
  }
  std::string target_of(const Route& route) const {
    std::string target(route.pattern);
    const bool is_uuid = route.pattern.starts_with("/v1/tasks") || route.pattern.starts_with("/v1/bulk") ||
                         route.pattern.starts_with("/v1/questions");
    const std::string id = is_uuid ? annas_.to_string() : "w";
    if (const auto at = target.find("{id}"); at != std::string::npos) target.replace(at, 4, id);
    if (const auto at = target.find("{parent}"); at != std::string::npos) target.replace(at, 8, id);
    if (const auto at = target.find("{name}"); at != std::string::npos) target.replace(at, 6, "all");
    if (const auto at = target.find("{owner}"); at != std::string::npos) target.replace(at, 7, "anna");
    if (const auto at = target.find("{key}"); at != std::string::npos) target.replace(at, 5, "held:all");
    if (const auto at = target.find("{version}"); at != std::string::npos) target.replace(at, 9, "1");
    if (target.ends_with("/wait") || target.ends_with("/changes")) target += "?timeout=0s";
    return target;
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ = must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}}));
  HttpClient client_;
  TaskId annas_;
};

TEST_F(Rights, EveryRouteHasItsRow) {
  std::set<std::string> known;
  for (const Route& route : routes()) known.insert(fmt::format("{} {}", route.method, route.pattern));
  std::set<std::string> tested;
  for (const auto& [name, expected] : expected_rights()) tested.insert(name);
  EXPECT_EQ(known, tested);
}

TEST_F(Rights, TheDescriptionNamesTheSameRoles) {
  for (const auto& [name, expected] : expected_rights()) {
    const json::Value* operation = describe(name);
    ASSERT_NE(operation, nullptr) << name;
    const json::Value* roles = operation->find("x-roles");
    ASSERT_NE(roles, nullptr) << name;
    std::set<std::string> named;
    for (const json::Value& role : *roles->as_array()) named.insert(*role.as_string());
    EXPECT_EQ(named, expected.roles) << name;
  }
}

TEST_F(Rights, EveryRoleMayDoWhatItsRowSaysAndNothingElse) {
  for (const Route& route : routes()) {
    const std::string name = fmt::format("{} {}", route.method, route.pattern);
    const Expected& expected = expected_rights().at(name);
    const std::string target = target_of(route);
    if (route.access == Access::kAnyone) {
      // Whoever signs in shows a code instead of a token.
      const int status = name == "POST /v1/signins" ? 401 : 200;
      EXPECT_EQ(ask(std::string(route.method), target, "", expected.body).status, status) << name;
      EXPECT_TRUE(expected.roles.empty()) << name;
      continue;
    }
    EXPECT_EQ(ask(std::string(route.method), target, "", expected.body).status, 401) << name;
    EXPECT_EQ(ask(std::string(route.method), target, "nobody", expected.body).status, 401) << name;
    for (const std::string who : {"viewer:anna", "producer:anna", "worker", "operator", "admin"}) {
      const std::string role = who.substr(0, who.find(':'));
      const int status = ask(std::string(route.method), target, who, expected.body).status;
      if (expected.roles.contains(role)) {
        EXPECT_NE(status, 403) << name << " for " << who;
        EXPECT_NE(status, 401) << name << " for " << who;
      } else if (name == "GET /v1/tasks/{id}" && role == "worker") {
        EXPECT_EQ(status, 404) << "a worker sees what it runs, and nothing else";
      } else if (name == "GET /v1/tasks/{id}/wait" && role == "worker") {
        EXPECT_EQ(status, 404) << "a worker sees what it runs, and nothing else";
      } else {
        EXPECT_EQ(status, 403) << name << " for " << who;
      }
    }
  }
}

TEST_F(Rights, WhatBelongsToOthersIsNotThere) {
  for (const Route& route : routes()) {
    const std::string name = fmt::format("{} {}", route.method, route.pattern);
    const Expected& expected = expected_rights().at(name);
    if (!expected.own) continue;
    for (const std::string who : {"viewer:ben", "producer:ben"}) {
      if (!expected.roles.contains(who.substr(0, who.find(':')))) continue;
      const HttpResponse foreign = ask(std::string(route.method), target_of(route), who, expected.body);
      EXPECT_EQ(foreign.status, 404) << name << " for " << who;
      EXPECT_EQ(foreign.body.find("anna"), std::string::npos) << name;
    }
  }
  EXPECT_EQ(must(engine_.get(annas_)).state, TaskState::kPending);
}

TEST_F(Rights, ListsAndEventsShowTheCallersOwnOnly) {
  must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  for (const std::string path : {"/v1/tasks", "/v1/tasks?owner=ben", "/v1/tasks?view=summary&count=true",
                                 "/v1/tasks?view=summary&q=owner:ben", "/v1/events", "/v1/dlq", "/v1/gates"}) {
    EXPECT_EQ(ask("GET", path, "viewer:anna").body.find("ben"), std::string::npos) << path;
  }
  EXPECT_NE(ask("GET", "/v1/tasks", "viewer:anna").body.find(annas_.to_string()), std::string::npos);
  EXPECT_NE(ask("GET", "/v1/events", "viewer:anna").body.find(annas_.to_string()), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/tasks?owner=ben", "viewer:anna").body,
            "{\"tasks\":[],\"cursor\":null,\"searched\":null}\n");
}

TEST_F(Rights, SeveralOwnersAreTheCallersOwnAtMost) {
  must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  const std::string both = ask("GET", "/v1/tasks?view=summary&count=true&owner=ben,anna", "viewer:anna").body;
  EXPECT_EQ(both.find("ben"), std::string::npos);
  EXPECT_NE(both.find(annas_.to_string()), std::string::npos);
  EXPECT_NE(both.find(R"("count":{"tasks":1,"capped":false})"), std::string::npos) << both;
}

TEST_F(Rights, GatesAreThoseThatTheCallersTasksWaitAt) {
  must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  must(engine_.enqueue_one({.type = "bens", .owner = "ben"}));
  for (const std::string gate : {"queue:work", "queue:bens", "owner:ben", "owner:anna"}) {
    must(engine_.set_gate({.gate = gate, .what = GateOrder::Close{}, .why = "secret", .by = "op@box"}));
  }
  const std::string seen = ask("GET", "/v1/gates", "viewer:anna").body;
  EXPECT_EQ(seen.find("ben"), std::string::npos) << seen;
  EXPECT_NE(seen.find(R"("name":"queue:work")"), std::string::npos) << seen;
  EXPECT_NE(seen.find(R"("waiting_tasks":1,)"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("secret"), seen.rfind("secret")) << "only of the owner's own gate";
  EXPECT_EQ(ask("GET", "/v1/gates?owner=ben", "viewer:anna").status, 403);
  EXPECT_NE(ask("GET", "/v1/gates?kind=owner", "operator").body.find("owner:ben"), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/gates?kind=owner", "operator").body.find("queue:work"), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/gates?kind=else", "operator").status, 400);
  const std::string page = ask("GET", "/v1/gates?limit=1", "operator").body;
  EXPECT_NE(page.find(R"("cursor":"owner:anna")"), std::string::npos) << page;
}

TEST_F(Rights, WhoDidItIsTheTokenWhateverTheCallerSays) {
  EXPECT_EQ(ask("POST", "/v1/gates/all", "operator", R"({"action":"close","by":"somebody"})").status, 400);
  EXPECT_EQ(ask("POST", "/v1/gates/all", "operator", R"({"action":"close","why":"x"})").status, 200);
  const std::string gates = ask("GET", "/v1/gates", "operator").body;
  EXPECT_NE(gates.find(R"("by":"token:)"), std::string::npos) << gates;
  const std::string cancel = "/v1/tasks/" + annas_.to_string() + "/cancel";
  EXPECT_EQ(ask("POST", cancel, "producer:anna", R"({"reason":"no use"})").status, 200);
  const std::string events = ask("GET", "/v1/tasks/" + annas_.to_string() + "/events", "viewer:anna").body;
  EXPECT_NE(events.find(R"("data":{"reason":"no use","by":"token:)"), std::string::npos) << events;
}

TEST_F(Rights, SavedViewsAreOfTheOwner) {
  EXPECT_EQ(ask("PUT", "/v1/views/mine", "viewer:anna", R"({"query":"owner:anna"})").status, 200);
  EXPECT_EQ(ask("GET", "/v1/views", "viewer:ben").body, "{\"views\":[]}\n");
  EXPECT_EQ(ask("GET", "/v1/views", "operator").body, "{\"views\":[]}\n");
  EXPECT_NE(ask("GET", "/v1/views", "producer:anna").body.find("owner:anna"), std::string::npos);
  EXPECT_EQ(ask("DELETE", "/v1/views/mine", "viewer:ben").status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/views/mine", "viewer:anna").status, 204);
}

TEST_F(Rights, ConversationsAreOfTheirOwner) {
  const std::string item = R"({"item_key":"k","kind":"message","body":{"text":"secret"}})";
  EXPECT_EQ(ask("POST", "/v1/conversations/chat/items", "producer:anna", item).status, 201);
  EXPECT_EQ(ask("POST", "/v1/conversations/chat/items", "producer:anna", item).status, 200) << "it is there already";
  EXPECT_NE(ask("GET", "/v1/conversations/chat", "producer:anna").body.find("secret"), std::string::npos);
  EXPECT_NE(ask("GET", "/v1/conversations/chat?owner=anna", "operator").body.find("secret"), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/conversations/chat", "operator").status, 404) << "without an owner it is default's";
  for (const std::string rest : {"", "/changes"}) {
    EXPECT_EQ(ask("GET", "/v1/conversations/chat" + rest + "?owner=anna", "producer:ben").status, 404) << rest;
  }
  EXPECT_EQ(ask("GET", "/v1/conversations", "producer:ben").body, "{\"conversations\":[],\"cursor\":null}\n");
  EXPECT_EQ(ask("GET", "/v1/conversations?owner=anna", "producer:ben").body,
            "{\"conversations\":[],\"cursor\":null}\n");
  const std::string taken = ask("POST", "/v1/conversations/chat/dequeue", "producer:ben", "{}").body;
  EXPECT_EQ(taken.find("batch"), std::string::npos) << "ben's conversation of that name is another";
  EXPECT_EQ(ask("POST", "/v1/conversations/chat/dequeue?owner=anna", "producer:ben", "{}").status, 404);
  EXPECT_NE(ask("POST", "/v1/conversations/chat/dequeue", "producer:anna", "{}").body.find("secret"),
            std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/events", "viewer:anna").body.find("conversation."), std::string::npos);
}

TEST_F(Rights, NumbersAreOfTheCallersOwnTasksOnly) {
  must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  must(engine_.enqueue_one({.type = "bens", .owner = "ben"}));
  for (const std::string path : {"/v1/stats", "/v1/stats?owner=anna", "/v1/queues"}) {
    const std::string body = ask("GET", path, "viewer:anna").body;
    EXPECT_EQ(body.find("bens"), std::string::npos) << path;
    EXPECT_NE(body.find("work"), std::string::npos) << path;
  }
  EXPECT_EQ(ask("GET", "/v1/queues", "producer:anna").body,
            R"({"queues":[{"name":"work","waiting":1,"running":0,"scheduled":0,"blocked":0,"gate":null,"held":[]}]})"
            "\n");
  EXPECT_EQ(ask("GET", "/v1/stats?owner=ben", "viewer:anna").status, 403);
  EXPECT_NE(ask("GET", "/v1/stats?owner=ben", "operator").body.find("bens"), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/queues", "viewer:nobody").body, "{\"queues\":[]}\n");
}

TEST_F(Rights, AProducerEnqueuesForItsOwnerOnly) {
  EXPECT_EQ(ask("POST", "/v1/tasks", "producer:ben", R"({"type":"work"})").status, 201);
  EXPECT_EQ(ask("POST", "/v1/tasks", "producer:ben", R"({"type":"work","owner":"ben"})").status, 201);
  EXPECT_EQ(ask("POST", "/v1/tasks", "producer:ben", R"({"type":"work","owner":"anna"})").status, 403);
  const HttpResponse foreign_parent = ask("POST", "/v1/tasks", "producer:ben",
                                          fmt::format(R"({{"type":"work","depends_on":["{}"]}})", annas_.to_string()));
  const HttpResponse no_parent = ask("POST", "/v1/tasks", "producer:ben",
                                     R"({"type":"work","depends_on":["0197b7d4-5c61-7cd5-8000-0123456789ab"]})");
  EXPECT_EQ(foreign_parent.status, no_parent.status);
  EXPECT_EQ(error_of_problem(foreign_parent).code, ErrorCode::kUnknownParent);
  EXPECT_EQ(error_of_problem(no_parent).code, ErrorCode::kUnknownParent);
}

TEST_F(Rights, BulkActsOnTheCallersOwnTasksOnly) {
  const TaskId bens = must(engine_.enqueue_one({.type = "work", .owner = "ben"})).id;
  const auto matched = [&](const std::string& who, const std::string& body) {
    return ask("POST", "/v1/bulk", who, body).body;
  };
  const std::string all = R"({"verb":"cancel","filter":{"state":["pending"]},"dry_run":true})";
  EXPECT_EQ(matched("operator", all).find(R"("matched":2)"), 17U);
  EXPECT_EQ(matched("producer:ben", all),
            fmt::format(R"({{"verb":"cancel","matched":1,"exact":true,"by_state":{{"pending":1}},"sample":["{}"]}})",
                        bens.to_string()) +
                "\n");
  EXPECT_EQ(ask("POST", "/v1/bulk", "producer:ben", R"({"verb":"cancel","filter":{"owner":"anna"}})").status, 403);
  const std::string foreign = fmt::format(R"({{"verb":"cancel","ids":["{}"]}})", annas_.to_string());
  EXPECT_EQ(ask("POST", "/v1/bulk", "producer:ben", foreign).status, 404);
  for (const std::string verb : {"retry", "delete"}) {
    EXPECT_EQ(ask("POST", "/v1/bulk", "producer:ben", fmt::format(R"({{"verb":"{}","filter":{{}}}})", verb)).status,
              403);
  }
  const HttpResponse started = ask("POST", "/v1/bulk", "producer:ben", R"({"verb":"cancel","filter":{},"by":"anna"})");
  EXPECT_EQ(started.status, 201);
  const json::Value operation = must(json::parse(started.body));
  EXPECT_EQ(*operation.find("owner")->as_string(), "ben");
  EXPECT_EQ(*operation.find("by")->as_string(), "producer:ben") << "the token's, whatever the client says";
  const std::string path = "/v1/bulk/" + *operation.find("id")->as_string();
  EXPECT_EQ(ask("GET", path, "viewer:anna").status, 404);
  EXPECT_EQ(ask("POST", path + "/stop", "producer:anna").status, 404);
  EXPECT_EQ(ask("GET", "/v1/bulk", "viewer:anna").body, "{\"operations\":[]}\n");
  EXPECT_EQ(ask("GET", path, "viewer:ben").status, 200);
  EXPECT_EQ(ask("POST", path + "/stop", "viewer:ben").status, 403);
  must(Sweepers(engine_).run_once());
  EXPECT_EQ(must(engine_.get(annas_)).state, TaskState::kPending);
  EXPECT_EQ(must(engine_.get(bens)).state, TaskState::kCancelled);
  EXPECT_EQ(ask("POST", path + "/stop", "producer:ben", R"({"why":"late"})").status, 409);
  const HttpResponse operators =
      ask("POST", "/v1/bulk", "operator", R"({"verb":"retry","filter":{"state":["cancelled"]}})");
  EXPECT_EQ(operators.status, 201);
  const std::string theirs = "/v1/bulk/" + *must(json::parse(operators.body)).find("id")->as_string();
  EXPECT_EQ(ask("GET", theirs, "viewer:ben").status, 404);
  EXPECT_EQ(ask("POST", theirs + "/stop", "operator", R"({"why":"no"})").status, 200);
}

TEST_F(Rights, BulkRefusesWhatItDoesNotKnow) {
  for (const std::string body :
       {R"({})", R"({"verb":"explode","filter":{}})", R"({"verb":"cancel"})",
        R"({"verb":"cancel","filter":{"colour":"red"}})", R"({"verb":"cancel","filter":{"state":["completed"]}})",
        R"({"verb":"cancel","filter":{},"more":1})", R"({"verb":"cancel","filter":{"type":7}})",
        R"({"verb":"edit","filter":{}})", R"({"verb":"cancel","filter":{"worker":""}})", R"([])"}) {
    EXPECT_EQ(ask("POST", "/v1/bulk", "operator", body).status, 400) << body;
  }
  EXPECT_EQ(ask("GET", "/v1/bulk", "operator").body, "{\"operations\":[]}\n");
  EXPECT_EQ(ask("GET", "/v1/bulk/none", "operator").status, 404);
}

TEST_F(Rights, EventsByFilterAndNewestFirst) {
  for (int i = 0; i < 5; ++i) must(engine_.enqueue_one({.type = "work", .owner = "ben"}));
  must(engine_.enqueue_one({.type = "other", .queue = "work", .owner = "ben"}));
  must(engine_.cancel(annas_, ""));
  const auto seqs = [&](const std::string& query, const std::string& who = "operator") {
    std::vector<std::int64_t> found;
    const json::Value page = must(json::parse(ask("GET", "/v1/events" + query, who).body));
    for (const json::Value& event : *page.find("events")->as_array()) found.push_back(*event.find("seq")->as_int());
    return found;
  };
  using Numbers = std::vector<std::int64_t>;
  const auto last = must(engine_.last_event_seq());
  EXPECT_EQ(seqs("?name=cancelled"), Numbers{last});
  EXPECT_EQ(seqs("?task=" + annas_.to_string() + "&order=desc"), (Numbers{last, 1}));
  EXPECT_EQ(seqs("?type=other"), Numbers{last - 1});
  EXPECT_EQ(seqs("?order=desc&limit=2"), (Numbers{last, last - 1}));
  EXPECT_EQ(seqs(fmt::format("?order=desc&limit=2&before={}", last - 1)), (Numbers{last - 2, last - 3}));
  EXPECT_EQ(seqs("?order=desc", "viewer:anna"), (Numbers{last, 1}));
  EXPECT_EQ(seqs("?owner=ben&name=task.enqueued,task.failed&name=due").size(), 6U);
  EXPECT_EQ(seqs("?queue=none"), Numbers{});
  for (const std::string query :
       {"?name=nonsense", "?name=", "?order=up", "?before=3", "?order=desc&after=3", "?task=7", "?limit=0"}) {
    EXPECT_EQ(ask("GET", "/v1/events" + query, "operator").status, 400) << query;
  }
}

TEST_F(Rights, EventsNewestFirstGoBackToTheOldest) {
  for (int i = 0; i < 250; ++i) {
    std::vector<TaskSpec> group(10, TaskSpec{.type = "work", .owner = "ben"});
    must(engine_.enqueue(group));
  }
  std::int64_t before = 0;
  std::int64_t expected = must(engine_.last_event_seq());
  for (int page = 0; page < 100; ++page) {
    const json::Value read = must(json::parse(
        ask("GET",
            fmt::format("/v1/events?order=desc&limit=700{}", before > 0 ? fmt::format("&before={}", before) : ""),
            "operator")
            .body));
    for (const json::Value& event : *read.find("events")->as_array())
      EXPECT_EQ(*event.find("seq")->as_int(), expected--);
    before = *read.find("next")->as_int();
    if (before == 0) break;
  }
  EXPECT_EQ(expected, 0);
}

TEST_F(Rights, AWorkerServesItsQueuesOnly) {
  ASSERT_EQ(ask("POST", "/v1/workers", "worker", kRegistration).status, 204);
  EXPECT_EQ(ask("POST", "/v1/workers/w/claim", "worker", R"({"serves":[{"queue":"other"}]})").status, 403);
  EXPECT_EQ(ask("POST", "/v1/workers/w/claim", "worker", R"({"serves":[{"queue":"work"}]})").status, 200);
  EXPECT_EQ(ask("GET", "/v1/tasks/" + annas_.to_string(), "worker").status, 200);  // it runs now
}

TEST_F(Rights, AWorkerRegistersBeforeItClaims) {
  for (const std::string who : {"worker", "operator", "admin"}) {
    const HttpResponse refused = ask("POST", "/v1/workers/w/claim", who, R"({"serves":[{"queue":"work"}]})");
    EXPECT_EQ(refused.status, 404) << who;
    EXPECT_EQ(error_of_problem(refused).code, ErrorCode::kUnknownWorker) << who;
    EXPECT_NE(refused.body.find("POST /v1/workers"), std::string::npos) << "it says what to do";
  }
  EXPECT_EQ(must(engine_.get(annas_)).state, TaskState::kPending);
}

// Which of the tasks that a worker's token can name are there for it, whatever it does: none outside its queues, even
// with a lease that it should not know; of those in its queues it reads only what its own workers hold.
class WorkersView : public Rights {
 protected:
  struct Running {
    TaskId id;
    Lease lease;
  };
  Running run(const std::string& queue, const std::string& token) {
    must(engine_.register_worker(
        {.id = "of-" + token, .version = "1", .serves = {{.queue = queue}}, .token_id = token}));
    const TaskId id = must(engine_.enqueue_one({.type = queue, .owner = "anna", .payload = R"("secret")"})).id;
    const auto claimed = must(engine_.claim({.worker_id = "of-" + token, .serves = {{.queue = queue}}, .n = 100}));
    const auto found = std::ranges::find(claimed, id, [](const ClaimedTask& task) { return task.task.id; });
    return {id, found->lease};
  }
  // What a worker's token is answered of the task, without its id.
  std::string answer(const Route& route, const TaskId& id, const LeaseId& lease) {
    const std::string name = fmt::format("{} {}", route.method, route.pattern);
    std::string target(route.pattern);
    target.replace(target.find("{id}"), 4, id.to_string());
    if (const auto at = target.find("{parent}"); at != std::string::npos) target.replace(at, 8, annas_.to_string());
    if (target.ends_with("/wait")) target += "?timeout=0s";
    std::string body = expected_rights().at(name).body;
    if (const auto at = body.find(kLease); at != std::string::npos) {
      body.replace(at, kLease.size(), fmt::format(R"("lease_id":"{}")", lease.to_string()));
    }
    HttpHeaders headers{{"host", "localhost"}, {"authorization", "Bearer worker"}, {"drover-lease", lease.to_string()}};
    const HttpResponse response = must(client_.exchange(
        {.method = std::string(route.method), .target = target, .body = body, .headers = std::move(headers)}, kLong));
    std::string text = fmt::format("{} {}", response.status, response.body);
    for (auto at = text.find(id.to_string()); at != std::string::npos; at = text.find(id.to_string())) {
      text.replace(at, id.to_string().size(), "ID");
    }
    return text;
  }
  static std::vector<const Route*> routes_of_workers() {
    std::vector<const Route*> found;
    for (const Route& route : routes()) {
      const bool reads = route.method == "GET" && (route.pattern.ends_with("{id}") || route.pattern.ends_with("/wait"));
      const bool works =
          expected_rights().at(fmt::format("{} {}", route.method, route.pattern)).roles.contains("worker");
      if (route.pattern.starts_with("/v1/tasks/{id}") && (reads || works)) found.push_back(&route);
    }
    return found;
  }
};

TEST_F(WorkersView, WhatIsOutsideItsQueuesIsNotThere) {
  const TaskId nothing = TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ab").value();
  const TaskId waiting = must(engine_.enqueue_one({.type = "elsewhere", .owner = "anna"})).id;
  const Running running = run("other", "another");
  const Running ended = run("other2", "another2");
  must(engine_.complete(ended.lease, {.result = R"("secret")"}));
  ASSERT_GE(routes_of_workers().size(), 10U);
  for (const Route* route : routes_of_workers()) {
    const std::string unknown = answer(*route, nothing, running.lease.id);
    EXPECT_TRUE(unknown.starts_with("404 ")) << route->pattern << unknown;
    EXPECT_EQ(answer(*route, waiting, running.lease.id), unknown) << route->pattern;
    EXPECT_EQ(answer(*route, running.id, running.lease.id), unknown) << route->pattern << " with the live lease";
    EXPECT_EQ(answer(*route, ended.id, ended.lease.id), unknown) << route->pattern;
  }
  const std::string lease =
      fmt::format(R"("task_id":"{}","lease_id":"{}")", running.id.to_string(), running.lease.id.to_string());
  EXPECT_NE(ask("POST", "/v1/settlements", "worker", fmt::format(R"({{"items":[{{{},"end":"complete"}}]}})", lease))
                .body.find(R"("code":"not_found")"),
            std::string::npos);
  ASSERT_EQ(ask("POST", "/v1/workers", "worker", kRegistration).status, 204);
  EXPECT_EQ(ask("POST", "/v1/workers/w/heartbeat", "worker", fmt::format(R"({{"leases":[{{{}}}]}})", lease)).body,
            "{\"leases\":[\"lost\"],\"drain\":false}\n");
  EXPECT_EQ(must(engine_.get(running.id)).state, TaskState::kRunning);
}

TEST_F(WorkersView, OfItsQueuesItReadsOnlyWhatItsOwnWorkersHold) {
  const Running theirs = run("work", "another");
  const Running own = run("work", "worker");
  for (const std::string end : {"", "/wait?timeout=0s"}) {
    const HttpResponse foreign = ask("GET", "/v1/tasks/" + theirs.id.to_string() + end, "worker");
    EXPECT_EQ(foreign.status, 404) << end;
    EXPECT_EQ(foreign.body.find("secret"), std::string::npos) << end;
    EXPECT_EQ(ask("GET", "/v1/tasks/" + own.id.to_string() + end, "worker").status, 200) << end;
  }
  EXPECT_EQ(must(engine_.complete(own.lease, {})), TaskState::kCompleted);
  EXPECT_EQ(ask("GET", "/v1/tasks/" + own.id.to_string(), "worker").status, 404) << "it does not hold it any more";
}

TEST_F(WorkersView, NoAgentAnswersItselfAndNobodyAnswersForAnotherOwner) {
  const Running runs = run("work", "worker");
  const Question question = must(engine_.ask(runs.lease, {.text = "Shall I?"}));
  const std::string target = "/v1/questions/" + question.id.to_string();
  const std::string yes = R"({"value":"yes"})";
  EXPECT_EQ(ask("POST", target + "/answer", "worker", yes).status, 403);
  const std::string itself = fmt::format(R"({{"lease_id":"{}","question_id":"{}","value":"yes"}})",
                                         runs.lease.id.to_string(), question.id.to_string());
  EXPECT_EQ(ask("POST", fmt::format("/v1/tasks/{}/answers", runs.id.to_string()), "worker", itself).status, 403);
  EXPECT_EQ(ask("POST", target + "/answer", "viewer:anna", yes).status, 403);
  for (const std::string verb : {"/answer", "/withdraw"}) {
    EXPECT_EQ(ask("POST", target + verb, "producer:ben", verb == "/answer" ? yes : "{}").status, 404) << verb;
  }
  EXPECT_EQ(ask("GET", target, "producer:ben").status, 404);
  EXPECT_EQ(must(engine_.question(question.id)).state, QuestionState::kOpen);
  EXPECT_EQ(ask("POST", target + "/answer", "producer:anna", yes).status, 200);
}

TEST_F(WorkersView, ItReadsTheParentsOfWhatItRuns) {
  const Running parent = run("work", "another");
  must(engine_.complete(parent.lease, {.result = R"("for the child")"}));
  const std::string parent_id = parent.id.to_string();
  const TaskId child = must(engine_.enqueue_one({.type = "work", .owner = "anna", .depends_on = {parent.id}})).id;
  const TaskId waiting = must(engine_.enqueue_one({.type = "work", .owner = "anna", .depends_on = {parent.id}})).id;
  const auto parent_of = [&](const TaskId& of, const std::string& who) {
    return ask("GET", fmt::format("/v1/tasks/{}/parents/{}", of.to_string(), parent_id), who);
  };
  EXPECT_EQ(parent_of(child, "worker").status, 404) << "it does not run yet";
  must(engine_.register_worker({.id = "w", .version = "1", .serves = {{.queue = "work"}}, .token_id = "worker"}));
  const ClaimRequest request{.worker_id = "w", .serves = {{.queue = "work"}}, .n = 100};
  // Which of the two equal tasks starts first does not matter: all that wait are claimed, and one is given back.
  Lease lease;
  for (const ClaimedTask& claimed : must(engine_.claim(request))) {
    if (claimed.task.id == child) lease = claimed.lease;
    if (claimed.task.id == waiting) must(engine_.release(claimed.lease));
  }
  const HttpResponse read = parent_of(child, "worker");
  EXPECT_EQ(read.status, 200);
  EXPECT_NE(read.body.find("for the child"), std::string::npos) << read.body;
  EXPECT_EQ(ask("GET", "/v1/tasks/" + parent_id, "worker").status, 404) << "only as a parent";
  EXPECT_EQ(parent_of(waiting, "worker").status, 404) << "nobody runs that one";
  const std::string other = fmt::format("/v1/tasks/{}/parents/{}", child.to_string(), waiting.to_string());
  EXPECT_EQ(ask("GET", other, "worker").status, 404) << "it is not a parent";
  EXPECT_EQ(ask("GET", fmt::format("/v1/tasks/{}/parents/x", child.to_string()), "worker").status, 404);
  must(engine_.complete(lease, {}));
  EXPECT_EQ(parent_of(child, "worker").status, 404) << "it does not hold it any more";
  EXPECT_EQ(parent_of(child, "viewer:anna").status, 200);
  EXPECT_EQ(parent_of(child, "viewer:ben").status, 404);
}

TEST_F(WorkersView, TheParentOfAnotherOwnerIsNotThereForAnOwner) {
  const TaskId bens = must(engine_.enqueue_one({.type = "work", .owner = "ben", .depends_on = {annas_}})).id;
  const std::string target = fmt::format("/v1/tasks/{}/parents/{}", bens.to_string(), annas_.to_string());
  EXPECT_EQ(ask("GET", target, "viewer:ben").status, 404);
  EXPECT_EQ(ask("GET", target, "viewer:anna").status, 404);
  EXPECT_EQ(ask("GET", target, "operator").status, 200);
}

TEST_F(WorkersView, ARunNamesNothingOfOtherOwners) {
  must(engine_.register_worker({.id = "w", .version = "1", .serves = {{.queue = "mine"}}}));
  must(engine_.enqueue_one({.type = "mine", .owner = "ben"}));
  const auto claimed = must(engine_.claim({.worker_id = "w", .serves = {{.queue = "mine"}}}));
  const std::string target = fmt::format("/v1/tasks/{}/children", claimed.front().task.id.to_string());
  for (const std::string who : {"operator", "admin"}) {
    const auto child_of = [&](const std::string& parent) {
      return must(client_.exchange({.method = "POST",
                                    .target = target,
                                    .body = fmt::format(R"({{"type":"child","depends_on":["{}"]}})", parent),
                                    .headers = {{"host", "localhost"},
                                                {"authorization", "Bearer " + who},
                                                {"drover-lease", claimed.front().lease.id.to_string()}}},
                                   kLong));
    };
    const HttpResponse foreign = child_of(annas_.to_string());
    EXPECT_EQ(foreign.status, 422) << who << ": the run is ben's, whoever speaks for its worker";
    EXPECT_EQ(error_of_problem(foreign).code, ErrorCode::kUnknownParent);
    EXPECT_EQ(child_of(claimed.front().task.id.to_string()).status, 201) << who;
  }
}

TEST_F(Rights, OperatorsMayNameTasksOfSeveralOwners) {
  const std::string body = fmt::format(R"({{"type":"work","owner":"ben","depends_on":["{}"]}})", annas_.to_string());
  EXPECT_EQ(ask("POST", "/v1/tasks", "operator", body).status, 201);
}

TEST_F(Rights, AnExplanationTellsNothingOfThoseWhoShareAGate) {
  must(engine_.set_gate({.gate = "type:work", .what = GateOrder::Limit{0}, .why = "hush", .by = "eve@host"}));
  must(engine_.set_gate({.gate = "all", .what = GateOrder::Close{}, .why = "the secret incident", .by = "eve@host"}));
  must(engine_.set_gate({.gate = "owner:anna", .what = GateOrder::Close{}, .why = "you owe us", .by = "eve@host"}));
  const std::string target = fmt::format("/v1/tasks/{}/explain", annas_.to_string());
  const std::string told = ask("GET", target, "operator").body;
  for (const std::string part : {"the secret incident", "hush", "you owe us"}) {
    EXPECT_NE(told.find(part), std::string::npos) << told;
  }
  for (const std::string who : {"viewer:anna", "producer:anna"}) {
    const std::string own = ask("GET", target, who).body;
    for (const std::string part : {"the secret incident", "hush", R"("in_use":0)"}) {
      EXPECT_EQ(own.find(part), std::string::npos) << own;
    }
    EXPECT_NE(own.find("a limit shared with others"), std::string::npos) << own;
    EXPECT_NE(own.find("you owe us"), std::string::npos) << "of its own gate: " << own;
  }
}

}  // namespace
}  // namespace drover::server
