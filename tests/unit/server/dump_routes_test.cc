// A dump that goes over HTTP is the one that the store itself gives, and goes back in as it does there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "engine/transfer.h"
#include "net/http_client.h"
#include "remote/remote_administration.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"
#include "unit/server/named_door.h"

namespace drover::server {
namespace {

using test::must;

// A store with a server in front of it.
struct Served {
  explicit Served(Clock& clock)
      : store(must(open_sqlite({.path = {}, .clock = &clock}))),
        server(must(Server::start(engine, here, door, {.listen = {"127.0.0.1:0"}}))),
        there(must(open_remote_administration({.url = server->addresses().front(), .token = "admin"}))) {}

  test::LockedRng rng{1};
  std::unique_ptr<Store> store;
  Engine engine{*store, rng};
  LocalAdministration here{*store, engine, rng};
  NamedDoor door;
  std::unique_ptr<Server> server;
  std::unique_ptr<Administration> there;
};

std::string dump_of(Administration& store) {
  std::string text;
  must(export_dump(store, {.text = [&](std::string_view part) -> Status {
                             text += part;
                             return {};
                           },
                           .progress = [](std::int64_t, std::int64_t) {}}));
  return text;
}

Result<DumpCounts> import_into(Administration& store, std::string_view dump, std::size_t piece_bytes) {
  const std::string id = must(store.begin_import());
  for (std::size_t offset = 0; offset < dump.size(); offset += piece_bytes) {
    const auto taken = store.import_piece(id, static_cast<std::int64_t>(offset), dump.substr(offset, piece_bytes));
    if (!taken) return taken;
  }
  return store.finish_import(id);
}

class DumpRoutes : public ::testing::Test {
 protected:
  void fill(Served& served, int tasks) {
    for (int i = 0; i < tasks; ++i) {
      must(served.engine.enqueue_one({.type = "work", .payload = fmt::format(R"({{"n":{}}})", i), .tags = {"t"}}));
    }
    must(served.engine.set_gate({.gate = "queue:later", .what = GateOrder::Close{}, .why = "lunch", .by = "ann"}));
    must(served.engine.apply_config(R"({"types":{"work":{"max_attempts":9}}})", 0));
  }
  // A run whose output is six times as long in a dump.
  void run_and_fail(Served& served) {
    const auto claimed = must(served.engine.claim({.worker_id = "w", .serves = {{.queue = "work", .type = {}}}}));
    ASSERT_EQ(claimed.size(), 1U);
    const std::vector<LogChunk> chunks(16, {.text = std::string(64 * 1024, '\x01')});
    must(served.engine.append_log(claimed.front().lease, chunks));
    const Settlement end{.lease = claimed.front().lease, .end = Failure{.error_class = ErrorClass::kInvalid}};
    must(served.engine.settle(std::span(&end, 1)).front());
    must(served.engine.retry(claimed.front().task.id));
  }

  test::ManualClock clock_;
};

TEST_F(DumpRoutes, ADumpOverAServerIsTheSameByteForByte) {
  Served served(clock_);
  fill(served, 1'234);
  const std::string dump = dump_of(served.here);
  EXPECT_EQ(dump_of(*served.there), dump);
  EXPECT_TRUE(dump.ends_with(R"({"end":{"gates":1,"tasks":1234,"events":1235}})"
                             "\n"))
      << dump.substr(dump.size() - 100);
}

TEST_F(DumpRoutes, ATaskThatIsLargerThanAnAnswerComesInPiecesOfOneVersion) {
  Served served(clock_);
  const TaskId id = must(served.engine.enqueue_one({.type = "work", .max_attempts = 1})).id;
  run_and_fail(served);
  const std::string dump = dump_of(served.here);
  EXPECT_EQ(dump_of(*served.there), dump);

  HttpClient client(must(parse_server_url(served.server->addresses().front())).endpoint);
  const auto ask = [&](std::size_t from, const std::string& version) {
    return must(client.exchange(
        {.method = "POST",
         .target = "/v1/dump/tasks",
         .body = fmt::format(R"({{"ids":["{}"],"offset":{},"version":"{}"}})", id.to_string(), from, version),
         .headers = {{"host", "localhost"}, {"authorization", "Bearer admin"}}},
        Millis{30'000}));
  };
  const HttpResponse first = ask(0, "");
  const std::string version(first.header("drover-version"));
  EXPECT_EQ(first.body.size(), std::size_t{4} << 20U);
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(ask(first.body.size(), "another").status, 412);
  const HttpResponse rest = ask(first.body.size(), version);
  EXPECT_EQ(rest.header("drover-version"), "");
  EXPECT_NE(dump.find(first.body + rest.body), std::string::npos);
  run_and_fail(served);
  EXPECT_EQ(ask(first.body.size(), version).status, 412) << "the task has changed meanwhile";
}

// Without its header, in which an import has one epoch more.
std::string body_of(const std::string& dump) {
  return dump.substr(dump.find('\n'));
}

TEST_F(DumpRoutes, PiecesMayEndAnywhereAndComeTwice) {
  Served served(clock_);
  fill(served, 30);
  const std::string dump = dump_of(served.here);
  Served other(clock_);
  const std::string id = must(other.there->begin_import());
  for (std::size_t at = 0; at < dump.size(); at += 997) {
    const std::string_view piece = std::string_view(dump).substr(at, 997);
    must(other.there->import_piece(id, static_cast<std::int64_t>(at), piece));
    must(other.there->import_piece(id, static_cast<std::int64_t>(at), piece));
  }
  EXPECT_EQ(other.there->import_piece(id, static_cast<std::int64_t>(dump.size()) + 1, "x").error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(other.there->finish_import(id)), (DumpCounts{.gates = 1, .tasks = 30, .events = 31}));
  EXPECT_EQ(body_of(dump_of(other.here)), body_of(dump));
  EXPECT_EQ(other.there->finish_import(id).error().code, ErrorCode::kNotFound);
}

TEST_F(DumpRoutes, AWrongLineIsNamedAndEndsTheImport) {
  Served served(clock_);
  fill(served, 3);
  std::string dump = dump_of(served.here);
  dump.insert(dump.find("\n{\"task\"") + 1, "{\"what\":1}\n");
  Served there(clock_);
  Served here(clock_);
  const auto far = import_into(*there.there, dump, 100);
  const auto near = import_into(here.here, dump, dump.size());
  ASSERT_FALSE(far.has_value());
  EXPECT_EQ(far.error().message, near.error().message);
  EXPECT_TRUE(far.error().message.starts_with("line 5: unknown kind")) << far.error().message;
  // It is as any import that was interrupted.
  EXPECT_TRUE(must(there.engine.is_importing()));
  EXPECT_EQ(there.there->begin_import().error().code, ErrorCode::kWrongState);
}

TEST_F(DumpRoutes, OneImportAtATimeAndNothingStartsBeforeItIsFinished) {
  Served served(clock_);
  fill(served, 3);
  const std::string dump = dump_of(served.here);
  Served other(clock_);
  const std::string id = must(other.there->begin_import());
  EXPECT_EQ(other.there->begin_import().error().code, ErrorCode::kWrongState);
  must(other.there->import_piece(id, 0, dump));
  const ClaimRequest claim{.worker_id = "w", .serves = {{.queue = "work", .type = {}}}};
  EXPECT_TRUE(must(other.engine.claim(claim)).empty());
  must(other.there->finish_import(id));
  EXPECT_EQ(must(other.engine.claim(claim)).size(), 1U);
}

TEST_F(DumpRoutes, TokensMayBeThereAndEventsComeBehindTheirs) {
  Served served(clock_);
  fill(served, 2);
  const std::string dump = dump_of(served.here);
  Served other(clock_);
  must(other.here.create_token({.role = Role::kAdmin}));
  must(import_into(*other.there, dump, 1'000));
  const auto events = must(other.engine.events(0, 100));
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].name, "token.created");
  EXPECT_EQ(events[1].seq, 2);
  EXPECT_EQ(must(other.here.tokens()).size(), 1U);
}

TEST_F(DumpRoutes, WhatOthersDoMeanwhileEndsTheImport) {
  Served served(clock_);
  fill(served, 3);
  Served other(clock_);
  const std::string id = must(other.there->begin_import());
  must(other.there->import_piece(id, 0, dump_of(served.here)));
  must(other.engine.enqueue_one({.type = "work"}));
  EXPECT_EQ(other.there->finish_import(id).error().code, ErrorCode::kWrongState);
}

}  // namespace
}  // namespace drover::server
