// Watching over WebSocket and server-sent events, against a server on a real socket.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "engine/local_administration.h"
#include "remote/server_url.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "unit/server/named_door.h"
#include "unit/server/viewer.h"

namespace drover::server {
namespace {

using json::Value;
using test::must;

class Live : public ::testing::Test {
 protected:
  Viewer watch(const std::string& query, const std::string& token, const std::string& more = {}) {
    return Viewer::of_socket(endpoint_, query, bearer(token) + more);
  }
  Viewer stream(const std::string& query, const std::string& token, const std::string& more = {}) {
    return Viewer::of_stream(endpoint_, query, bearer(token) + more);
  }
  TaskId enqueue(const std::string& owner = "anna", const std::string& queue = "work") {
    return must(engine_.enqueue_one({.type = "work", .queue = queue, .owner = owner})).id;
  }
  void cancel(const TaskId& id, const std::string& reason = "enough") { must(engine_.cancel(id, reason)); }
  // The next events, however many frames they come in.
  static std::vector<std::string> next_names(Viewer& viewer, std::size_t count) {
    std::vector<std::string> names;
    while (names.size() < count) {
      const Value frame = viewer.next("events");
      if (frame.is_null()) break;
      for (const Value& event : *frame.find("events")->as_array()) names.push_back(text(event, "name"));
    }
    return names;
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_ = must(open_sqlite(SqliteOptions{}));
  Engine engine_{*store_, rng_};
  LocalAdministration administration_{*store_, engine_, rng_};
  NamedDoor door_;
  std::unique_ptr<Server> server_ =
      must(Server::start(engine_, administration_, door_, {.listen = {"127.0.0.1:0"}, .tokens_again = Millis{200}}));
  Endpoint endpoint_ = must(parse_server_url(server_->addresses().front())).endpoint;
};

using Names = std::vector<std::string>;

TEST_F(Live, ASnapshotComesFirstAndThenWhatHappens) {
  const TaskId id = enqueue();
  const TaskId ended = enqueue();
  cancel(ended);
  const auto check = [&](Viewer viewer) {
    const Value snapshot = viewer.next();
    EXPECT_EQ(text(snapshot, "kind"), "snapshot");
    ASSERT_EQ(snapshot.find("tasks")->as_array()->size(), 1U);
    EXPECT_EQ(text(snapshot.find("tasks")->as_array()->front(), "id"), id.to_string());
    EXPECT_EQ(snapshot.find("more")->as_bool() != nullptr && *snapshot.find("more")->as_bool(), false);
    const TaskId later = enqueue();
    const Value frame = viewer.next();
    EXPECT_EQ(text(frame, "kind"), "events");
    EXPECT_GT(number(frame, "seq"), number(snapshot, "seq"));
    EXPECT_EQ(text(frame.find("events")->as_array()->front(), "task_id"), later.to_string());
    cancel(later);
  };
  check(watch("", "operator"));
  check(stream("", "operator"));
}

TEST_F(Live, EventsAreChosenByName) {
  enqueue();
  Viewer viewer = watch("?snapshot=false&after=0&name=cancelled,task.claimed", "operator");
  cancel(enqueue());
  EXPECT_EQ(next_names(viewer, 1), (Names{"task.cancelled"}));
}

TEST_F(Live, ATallyCountsInsteadOfTelling) {
  for (int i = 0; i < 3; ++i) cancel(enqueue());
  Viewer viewer = watch("?snapshot=false&after=0&tally=true&owner=anna", "operator");
  std::map<std::string, std::int64_t> counts;
  while (counts["task.cancelled cancelled"] < 3) {
    const Value frame = viewer.next("tally");
    ASSERT_FALSE(frame.is_null());
    for (const Value& count : *frame.find("counts")->as_array()) {
      counts[text(count, "name") + " " + text(count, "state")] += number(count, "count");
    }
  }
  EXPECT_EQ(counts["task.enqueued pending"], 3);
  EXPECT_EQ(counts.size(), 2U);
}

TEST_F(Live, WhatIsWatchedCanBeChangedOnAnOpenSocket) {
  enqueue();
  Viewer viewer = watch("?snapshot=false&after=0&queue=a", "operator");
  enqueue("anna", "b");
  enqueue("anna", "a");
  EXPECT_EQ(next_names(viewer, 1), (Names{"task.enqueued"}));
  viewer.say(R"({"watch":{"queue":"b","name":["cancelled"]}})");
  const Value watching = viewer.next("watching");
  ASSERT_FALSE(watching.is_null());
  EXPECT_GT(number(watching, "seq"), 0);
  cancel(enqueue("anna", "a"));
  cancel(enqueue("anna", "b"));
  const Value frame = viewer.next("events");
  ASSERT_EQ(frame.find("events")->as_array()->size(), 1U);
  EXPECT_EQ(text(frame.find("events")->as_array()->front(), "queue"), "b");
  viewer.say(R"({"watch":{"tally":true}})");
  ASSERT_FALSE(viewer.next("watching").is_null());
  enqueue("ben", "c");
  EXPECT_FALSE(viewer.next("tally").is_null());
}

TEST_F(Live, AnOwnersWatcherSeesNothingElseWhateverItAsksFor) {
  enqueue();
  Viewer viewer = watch("?snapshot=false", "viewer:anna");
  viewer.say(R"({"watch":{"owner":"ben","tally":true}})");
  ASSERT_FALSE(viewer.next("watching").is_null());
  enqueue("ben");
  viewer.say(R"({"watch":{}})");
  ASSERT_FALSE(viewer.next("watching").is_null()) << "no tally came between";
  enqueue("anna");
  EXPECT_EQ(next_names(viewer, 1), (Names{"task.enqueued"}));
}

TEST_F(Live, WhatCannotBeWatchedEndsTheConnection) {
  enqueue();
  for (const char* message : {R"({"watch":{"typ":"x"}})", R"({"watch":1})", R"({"token":"x"})", "{}"}) {
    Viewer viewer = watch("?snapshot=false", "operator");
    viewer.say(message);
    EXPECT_TRUE(viewer.next("watching").is_null()) << message;
  }
}

TEST_F(Live, BothTransportsHaveTheSameNumbers) {
  enqueue();  // before anybody watches: a first frame may tell of nothing yet
  Viewer socket = watch("?snapshot=false&after=0", "operator");
  Viewer events = stream("?snapshot=false&after=0", "operator");
  const Value one = socket.next("events");
  const Value other = events.next("events");
  EXPECT_EQ(one, other);
  EXPECT_EQ(events.last_id(), std::to_string(number(other, "seq")));
}

TEST_F(Live, AWatcherResumesWhereItWas) {
  const TaskId id = enqueue();
  const std::int64_t seq = must(engine_.last_event_seq());
  cancel(id);
  Viewer by_query = watch(fmt::format("?after={}", seq), "operator");
  EXPECT_EQ(next_names(by_query, 1), Names{"task.cancelled"});
  Viewer by_header = stream("", "operator", fmt::format("Last-Event-ID: {}\r\n", seq));
  EXPECT_EQ(next_names(by_header, 1), Names{"task.cancelled"});
}

TEST_F(Live, AGapIsToldAndFollowedByASnapshot) {
  for (int i = 0; i < 5; ++i) enqueue();
  must(store_->expire(Retention{.events_max = 2}, 1'000));
  Viewer viewer = watch("?after=1", "operator");
  const Value gap = viewer.next();
  EXPECT_EQ(text(gap, "kind"), "gap");
  EXPECT_EQ(number(gap, "after"), 1);
  const Value snapshot = viewer.next();
  EXPECT_EQ(text(snapshot, "kind"), "snapshot");
  EXPECT_EQ(snapshot.find("tasks")->as_array()->size(), 5U);
  enqueue();
  EXPECT_EQ(next_names(viewer, 1), Names{"task.enqueued"});
}

TEST_F(Live, ANumberFromTheFutureIsAGap) {
  enqueue();
  Viewer viewer = watch("?after=1000&snapshot=false", "operator");
  const Value gap = viewer.next();
  EXPECT_EQ(text(gap, "kind"), "gap");
  EXPECT_EQ(number(gap, "seq"), must(engine_.last_event_seq()));
  enqueue();
  EXPECT_EQ(next_names(viewer, 1), Names{"task.enqueued"});
}

TEST_F(Live, AnOwnerSeesNothingOfOthers) {
  enqueue("ben");
  const TaskId own = enqueue("anna");
  Viewer past = watch("?after=0", "viewer:anna");
  Viewer now = watch("", "viewer:anna");
  const Value snapshot = now.next();
  ASSERT_EQ(snapshot.find("tasks")->as_array()->size(), 1U);
  EXPECT_EQ(text(snapshot.find("tasks")->as_array()->front(), "id"), own.to_string());
  enqueue("ben");
  must(engine_.set_gate({.gate = "all", .what = GateOrder::Close{}, .why = {}, .by = {}}));
  cancel(own);
  for (Viewer* viewer : {&past, &now}) {
    std::string last;
    while (last != "task.cancelled") {
      const Value frame = viewer->next("events");
      ASSERT_FALSE(frame.is_null());
      for (const Value& event : *frame.find("events")->as_array()) {
        EXPECT_EQ(text(event, "owner"), "anna");
        last = text(event, "name");
      }
    }
  }
}

TEST_F(Live, FiltersChooseByQueueTypeOwnerAndTask) {
  const TaskId id = enqueue("anna", "one");
  for (const std::string& query : {std::string("?queue=one"), fmt::format("?task={}", id.to_string()),
                                   std::string("?type=work&owner=anna&queue=one")}) {
    Viewer viewer = watch(query + "&after=0", "operator");
    enqueue("anna", "two");
    const Value frame = viewer.next("events");
    ASSERT_EQ(frame.find("events")->as_array()->size(), 1U) << query;
    EXPECT_EQ(text(frame.find("events")->as_array()->front(), "task_id"), id.to_string());
  }
}

TEST_F(Live, TheOlderNamesAreThere) {
  Viewer viewer = watch("?names=orchestrator&after=0", "operator");
  const TaskId id = enqueue();
  cancel(id);
  Names names;
  while (names.size() < 3) {
    const Value frame = viewer.next("events");
    ASSERT_FALSE(frame.is_null());
    for (const Value& event : *frame.find("events")->as_array()) {
      names.push_back(text(event, "type"));
      EXPECT_EQ(text(*event.find("payload"), "jobId"), id.to_string());
      EXPECT_EQ(text(*event.find("payload"), "projectId"), "anna");
    }
  }
  EXPECT_EQ(names, (Names{"orchestrator_job_queued", "transcript_updated", "orchestrator_job_canceled"}));
}

TEST_F(Live, ABrowserShowsItsTokenInTheFirstMessage) {
  const std::string origin = "Origin: http://localhost:1\r\n";
  EXPECT_TRUE(watch("", "").head().starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(watch("", "", "Origin: http://evil.example\r\n").head().starts_with("HTTP/1.1 403"));

  enqueue();
  Viewer viewer = watch("", "", origin);
  viewer.say(R"({"token":"viewer:anna"})");
  EXPECT_EQ(text(viewer.next(), "kind"), "snapshot");

  Viewer stranger = watch("", "", origin);
  stranger.say(R"({"token":"nobody"})");
  EXPECT_TRUE(stranger.next().is_null());
  EXPECT_EQ(stranger.close_code(), 1008);

  Viewer babbler = watch("", "", origin);
  babbler.say("hello");
  EXPECT_TRUE(babbler.next().is_null());
  EXPECT_EQ(babbler.close_code(), 1008);
}

TEST_F(Live, BadWishesAreRefused) {
  for (const std::string query : {"?names=other", "?after=x", "?task=1", "?snapshot=maybe", "?state=running"}) {
    EXPECT_TRUE(watch(query, "operator").head().starts_with("HTTP/1.1 400")) << query;
    EXPECT_TRUE(stream(query, "operator").head().starts_with("HTTP/1.1 400")) << query;
  }
  EXPECT_TRUE(stream("", "operator", "Last-Event-ID: x\r\n").head().starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(watch("", "worker").head().starts_with("HTTP/1.1 403"));
}

TEST_F(Live, ATokenThatIsRevokedEndsTheWatch) {
  Viewer socket = watch("", "operator");
  Viewer events = stream("", "operator");
  EXPECT_EQ(text(socket.next(), "kind"), "snapshot");
  EXPECT_EQ(text(events.next(), "kind"), "snapshot");
  door_.is_locked = true;
  EXPECT_TRUE(socket.next().is_null());
  EXPECT_EQ(socket.close_code(), 1008);
  EXPECT_EQ(number(events.next("bye"), "code"), 1008);
}

TEST_F(Live, NoMoreThanTenFramesASecond) {
  Viewer viewer = watch("?after=0", "operator");
  const MonoTime began = system_clock().mono();
  int made = 0;
  while (system_clock().mono() - began < Millis{500}) {
    enqueue();
    ++made;
  }
  int frames = 0;
  int seen = 0;
  while (seen < made) {
    const Value frame = viewer.next("events");
    ASSERT_FALSE(frame.is_null());
    seen += static_cast<int>(frame.find("events")->as_array()->size());
    ++frames;
  }
  EXPECT_EQ(seen, made);
  const auto tenths = (system_clock().mono() - began) / Millis{100};
  EXPECT_LE(frames, tenths + 1);
}

// What it does not read stays with the server up to a bound; then it is sent away, and resumes without a loss.
TEST_F(Live, AWatcherThatDoesNotReadIsSentAway) {
  Viewer slow = watch("?after=0&snapshot=false", "operator");
  const std::string reason(4'000, 'x');
  constexpr int kTasks = 4'000;
  std::vector<TaskSpec> group(100, TaskSpec{.type = "work", .owner = "anna"});
  for (int i = 0; i < kTasks / 100; ++i) {
    for (const Enqueued& made : must(engine_.enqueue(group))) cancel(made.id, reason);
  }
  std::int64_t seq = 0;
  for (Value frame = slow.next(); !frame.is_null(); frame = slow.next()) seq = number(frame, "seq");
  EXPECT_EQ(slow.close_code(), 1013);
  const std::int64_t last = must(engine_.last_event_seq());
  EXPECT_LT(seq, last);
  Viewer again = watch(fmt::format("?after={}&snapshot=false", seq), "operator");
  std::int64_t count = 0;
  while (seq + count < last) {
    const Value frame = again.next();
    ASSERT_FALSE(frame.is_null());
    ASSERT_EQ(text(frame, "kind"), "events");
    count += static_cast<std::int64_t>(frame.find("events")->as_array()->size());
  }
  EXPECT_EQ(seq + count, last);
}

TEST_F(Live, AServerThatStopsSaysGoodbye) {
  Viewer viewer = watch("", "operator");
  EXPECT_EQ(text(viewer.next(), "kind"), "snapshot");
  server_.reset();
  EXPECT_TRUE(viewer.next().is_null());
  EXPECT_EQ(viewer.close_code(), 1001);
}

}  // namespace
}  // namespace drover::server
