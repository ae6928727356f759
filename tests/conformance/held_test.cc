// What gates hold back is told: by queue and gate, with exact numbers, and as an alert when it lasts.
#include "base/json.h"
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Held : public ConformanceTest {
 protected:
  void SetUp() override {
    apply_config(R"({"types":{"work":{"provider":"acme","breaker":{"failures":1,"open":"1m"},"max_attempts":1}}})");
  }
  TaskId enqueue_mine() { return enqueue({.type = "work", .owner = "me", .locks = {"site"}}); }

  // "5 at all", one for each gate that holds tasks of the queue.
  std::vector<std::string> held(const std::string& name = "work") {
    std::vector<std::string> lines;
    for (const HeldTasks& one : held_in(name)) {
      lines.push_back(std::to_string(one.tasks) + (one.shut ? " at " : " before ") + one.gate);
    }
    return lines;
  }
  std::vector<HeldTasks> held_in(const std::string& name) {
    for (const QueueStatus& status : must(queue().queues())) {
      if (status.name == name) return status.held;
    }
    return {};
  }
  void serve() {
    must(queue().register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}, .capacity = 4}));
  }
  // Time passes for a fleet that is alive, with a look at its health at the end.
  void look_after(Millis time) {
    for (Millis left = time; left > Millis{0}; left -= Millis{20'000}) {
      advance(std::min(left, Millis{20'000}));
      must(queue().renew("host:1:a", {}, kLease));
    }
    sweep();
    watch_health();
  }
  std::vector<Alert> alerts() {
    std::vector<Alert> found;
    for (Alert& alert : must(queue().alerts())) {
      if (alert.kind == AlertKind::kHeld) found.push_back(std::move(alert));
    }
    return found;
  }
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (const Event& event : must(queue().events(0, 1'000))) {
      if (event.name != "alert.raised" && event.name != "alert.cleared") continue;
      const auto data = must(json::parse(event.data));
      if (*data.find("kind")->as_string() == "held")
        lines.push_back(event.name + " " + *data.find("subject")->as_string());
    }
    return lines;
  }
  using Lines = std::vector<std::string>;
};
ON_EVERY_STORE(Held);

TEST_P(Held, NothingIsHeldWhereNoGateIs) {
  enqueue_mine();
  EXPECT_EQ(held(), Lines{});
}

TEST_P(Held, EveryShutGateIsTold) {
  for (const char* gate : {"all", "queue:work", "type:work", "owner:me", "provider:acme", "lock:site"}) {
    for (int i = 0; i < 5; ++i) enqueue_mine();
    close_gate(gate);
    EXPECT_EQ(held(), Lines{"5 at " + std::string(gate)}) << "before any worker asked";
    EXPECT_TRUE(claim(10).empty());
    EXPECT_EQ(held(), Lines{"5 at " + std::string(gate)}) << "when the lane is parked there";
    open_gate(gate);
    EXPECT_EQ(held(), Lines{});
    for (int i = 0; i < 5; ++i) complete(claim_one().lease);
  }
}

TEST_P(Held, OwnersWithoutAGateOfTheirOwnAreHeldByTheDefault) {
  apply_config(R"({"owners":{"default":{"permits":1}}})");
  complete(start(enqueue_mine()));
  const Lease lease = start(enqueue_mine());
  enqueue_mine();
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(held(), Lines{"1 before owner:me"});
  complete(lease);
  EXPECT_EQ(held(), Lines{});
}

TEST_P(Held, CountsWhatWaitsAndNothingElse) {
  for (int i = 0; i < 12; ++i) enqueue_work();
  enqueue({.type = "other", .queue = "work"});
  enqueue({.type = "work", .delay = 1h});
  const std::vector<ClaimedTask> running = claim({{.queue = "work", .type = "work"}}, 4);
  ASSERT_EQ(running.size(), 4U);
  complete(running[0].lease);
  release(running[1].lease);
  must(queue().cancel(enqueue_work(), ""));
  close_gate("type:work");
  EXPECT_EQ(held(), Lines{"9 at type:work"}) << "eight that never ran, and one that came back";
  EXPECT_TRUE(claim({{.queue = "work", .type = "work"}}, 4).empty());
  EXPECT_EQ(held(), Lines{"9 at type:work"});
}

TEST_P(Held, SumsUpLanesOfAQueueAndTellsQueuesApart) {
  for (int owner = 0; owner < 3; ++owner) {
    for (int i = 0; i <= owner; ++i) enqueue({.type = "work", .owner = "owner" + std::to_string(owner)});
  }
  enqueue({.type = "work", .queue = "elsewhere"});
  close_gate("provider:acme");
  EXPECT_EQ(held(), Lines{"6 at provider:acme"});
  EXPECT_EQ(held("elsewhere"), Lines{"1 at provider:acme"});
}

TEST_P(Held, AGateThatIsOnlyFullIsNotShut) {
  limit_gate("queue:work", 1);
  enqueue_work();
  const Lease lease = claim({{.queue = "work"}}, 1, 3h).at(0).lease;
  enqueue_work();
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(held(), Lines{"1 before queue:work"});
  EXPECT_EQ(held_in("work").at(0).why, "1 of 1 permits in use");
  look_after(2h);
  EXPECT_TRUE(alerts().empty()) << "work goes through";
  complete(lease);
}

TEST_P(Held, SaysSinceWhenAndWhy) {
  const Time enqueued = now();
  enqueue_work();
  advance(10min);
  must(queue().set_gate({.gate = "all", .what = GateOrder::Close{}, .why = "deploy", .by = "ann@box"}));
  advance(1min);
  const HeldTasks first = held_in("work").at(0);
  EXPECT_EQ(first.since, enqueued + 10min) << "when the gate was closed";
  EXPECT_EQ(first.why, fmt::format("closed by {} (deploy)", signed_as("ann@box")));
  must(queue().cancel(must(queue().list({}, 1, std::nullopt)).tasks.at(0).id, ""));
  enqueue_work();
  EXPECT_EQ(held_in("work").at(0).since, now()) << "when the task came";
}

TEST_P(Held, AHandThatIsForgottenIsAnAlertOnce) {
  serve();
  for (int i = 0; i < 5; ++i) enqueue_work();
  must(queue().set_gate({.gate = "all", .what = GateOrder::Close{}, .why = "deploy", .by = "ann@box"}));
  look_after(14min);
  EXPECT_TRUE(alerts().empty());
  look_after(1min);
  ASSERT_EQ(alerts().size(), 1U);
  EXPECT_EQ(alerts()[0].severity, Severity::kWarning);
  EXPECT_EQ(alerts()[0].detail,
            fmt::format("holds 5 tasks back, the first for 15m: closed by {} (deploy)", signed_as("ann@box")));
  EXPECT_EQ(alerts()[0].fix, "drover gate open all");
  look_after(1min);
  look_after(44min);
  EXPECT_EQ(alerts().at(0).severity, Severity::kCritical);
  open_gate("all");
  look_after(1min);
  EXPECT_TRUE(alerts().empty());
  EXPECT_EQ(news(), (Lines{"alert.raised all", "alert.raised all", "alert.cleared all"})) << "once for each severity";
}

TEST_P(Held, AProviderAndABreakerAlike) {
  serve();
  must(queue().fail(start_work(),
                    {.error_class = ErrorClass::kQuotaExhausted, .message = "no more", .retry_after = 1h}));
  enqueue_work();
  look_after(16min);
  ASSERT_EQ(alerts().size(), 1U);
  EXPECT_EQ(alerts()[0].subject, "provider:acme");
  open_gate("provider:acme");
  for (const ClaimedTask& task : claim(9)) complete(task.lease);
  look_after(1min);
  EXPECT_TRUE(alerts().empty());

  fail(start_work());  // the breaker opens
  for (int i = 0; i < 20; ++i) enqueue_work();
  // Each probe fails: it is shut anew each time, and what it holds has been held all the time.
  for (int minute = 0; minute < 16; ++minute) {
    look_after(61s);
    for (const ClaimedTask& probe : claim(9)) fail(probe.lease);
  }
  ASSERT_EQ(alerts().size(), 1U);
  EXPECT_EQ(alerts()[0].subject, "type:work");
}

TEST_P(Held, TheThresholdIsOfThePolicy) {
  serve();
  apply_config(R"({"health":{"held":{"critical":"3m","warning":"1m"}}})");
  enqueue_work();
  close_gate("queue:work");
  look_after(1min);
  EXPECT_EQ(alerts().at(0).severity, Severity::kWarning);
  EXPECT_EQ(alerts().at(0).fix, "drover queue resume work");
  look_after(2min);
  EXPECT_EQ(alerts().at(0).severity, Severity::kCritical);
}

}  // namespace
}  // namespace drover::test
