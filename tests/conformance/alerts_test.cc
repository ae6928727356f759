// Alerts: raised once, cleared once, whoever looks.
#include "base/json.h"
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Alerts : public ConformanceTest {
 protected:
  // "raised dead_letter queue:work", oldest first.
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (const Event& event : must(queue().events(0, 1'000))) {
      if (!event.name.starts_with("alert.")) continue;
      const auto data = must(json::parse(event.data));
      lines.push_back(event.name.substr(6) + " " + *data.find("kind")->as_string() + " " +
                      *data.find("subject")->as_string());
    }
    return lines;
  }
  std::vector<std::string> active() {
    std::vector<std::string> lines;
    for (const Alert& alert : must(queue().alerts())) {
      lines.push_back(std::string(name_of(alert.kind)) + " " + alert.subject);
    }
    return lines;
  }
  void serve() {
    must(queue().register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}, .capacity = 4}));
  }
  // Looks at the fleet's health, long enough after the last look. The worker stays in touch.
  void look() {
    for (int i = 0; i < 4; ++i) {
      advance(5s);
      must(queue().renew("host:1:a", {}, kLease));
    }
    sweep();
    watch_health();
  }
  using Lines = std::vector<std::string>;
};
ON_EVERY_STORE(Alerts);

TEST_P(Alerts, NoneWhereAllIsWell) {
  serve();
  look();
  EXPECT_TRUE(active().empty());
  EXPECT_TRUE(news().empty());
}

TEST_P(Alerts, DeadLettersAreRaisedOnceAndClearedOnce) {
  serve();
  const TaskId id = enqueue_work();
  must(queue().fail(start(id), {.error_class = ErrorClass::kInvalid, .message = "no"}));
  look();
  look();
  EXPECT_EQ(active(), Lines{"dead_letter queue:work"});
  EXPECT_EQ(news(), Lines{"raised dead_letter queue:work"});
  const Alert alert = must(queue().alerts()).at(0);
  EXPECT_EQ(alert.severity, Severity::kWarning);
  EXPECT_EQ(alert.detail, "1 dead letter");
  must(queue().retry(id));
  look();
  look();
  EXPECT_TRUE(active().empty());
  EXPECT_EQ(news(), (Lines{"raised dead_letter queue:work", "cleared dead_letter queue:work"}));
}

TEST_P(Alerts, AnAlertKeepsTheTimeWhenItWasRaised) {
  serve();
  must(queue().fail(start(enqueue_work()), {.error_class = ErrorClass::kInvalid}));
  look();
  const Time raised = must(queue().alerts()).at(0).raised_at;
  EXPECT_EQ(raised, now());
  look();
  EXPECT_EQ(must(queue().alerts()).at(0).raised_at, raised);
}

TEST_P(Alerts, ASilentWorker) {
  serve();
  advance(31s);
  watch_health();
  EXPECT_EQ(active(), Lines{"worker_lost worker:host:1:a"});
  look();
  EXPECT_TRUE(active().empty());
  EXPECT_EQ(news(), (Lines{"raised worker_lost worker:host:1:a", "cleared worker_lost worker:host:1:a"}));
}

TEST_P(Alerts, AQueueThatNobodyServes) {
  serve();
  enqueue({.type = "other"});
  look();
  EXPECT_EQ(active(), Lines{"not_served queue:other"});
}

TEST_P(Alerts, WorkThatWaitsWhileAWorkerIsIdle) {
  serve();
  enqueue_work();
  look();
  EXPECT_TRUE(active().empty());
  for (int i = 0; i < 3; ++i) look();
  EXPECT_EQ(active(), Lines{"idle_workers queue:work"});
  must(queue().set_gate({.gate = "queue:work", .what = GateOrder::Close{}}));
  look();
  EXPECT_TRUE(active().empty()) << "a gate explains it";
}

TEST_P(Alerts, ManyWaitAndFarMoreThanUsual) {
  serve();
  enqueue_work();
  look();
  for (int i = 0; i < 120; ++i) enqueue_work();
  look();
  EXPECT_EQ(active(), (Lines{"waiting queue:work", "lag queue:work"}));
  EXPECT_EQ(must(queue().alerts()).at(0).severity, Severity::kCritical);
  EXPECT_EQ(must(queue().alerts()).at(1).severity, Severity::kWarning);
}

TEST_P(Alerts, ThresholdsAreOfThePolicy) {
  serve();
  const auto config = must(queue().config());
  must(queue().apply_config(R"({"health":{"lag":{"critical":3,"warning":2}}})", config.version));
  enqueue_work();
  enqueue_work();
  look();
  EXPECT_EQ(active(), Lines{"lag queue:work"});
  EXPECT_EQ(must(queue().alerts()).at(0).severity, Severity::kWarning);
  enqueue_work();
  look();
  EXPECT_EQ(must(queue().alerts()).at(0).severity, Severity::kCritical) << "one that gets worse is raised anew";
  EXPECT_EQ(news(), (Lines{"raised lag queue:work", "raised lag queue:work"}));
}

TEST_P(Alerts, ATaskWithoutProgress) {
  serve();
  enqueue_work();
  const Lease lease = claim({{.queue = "work"}}, 1, 2h).at(0).lease;
  for (int i = 0; i < 16; ++i) look();
  EXPECT_EQ(active(), Lines{"no_progress task:" + lease.task.to_string()});
  must(queue().progress(lease, {.percent = 10, .message = "on it"}));
  look();
  EXPECT_TRUE(active().empty());
  for (int i = 0; i < 16; ++i) look();
  EXPECT_EQ(active(), Lines{"no_progress task:" + lease.task.to_string()}) << "it says the same for long";
}

TEST_P(Alerts, ABreakerIsToldInTheStepThatOpensIt) {
  serve();
  const auto config = must(queue().config());
  must(queue().apply_config(R"({"types":{"work":{"breaker":{"failures":1,"open":"1m"}}}})", config.version));
  must(queue().fail(start(enqueue_work()), {.error_class = ErrorClass::kAgentError, .message = "no"}));
  EXPECT_EQ(news(), Lines{"raised breaker_open type:work"});
  look();
  EXPECT_EQ(active(), Lines{"breaker_open type:work"});
  EXPECT_EQ(news(), Lines{"raised breaker_open type:work"}) << "not told twice";
  open_gate("type:work");
  look();
  EXPECT_EQ(news(), (Lines{"raised breaker_open type:work", "cleared breaker_open type:work"}));
  EXPECT_TRUE(active().empty());
}

TEST_P(Alerts, ATaskThatFailedWithAClassThatAlerts) {
  serve();
  const TaskId id = enqueue_work();
  must(queue().fail(start(id), {.error_class = ErrorClass::kOom, .message = "9 GiB"}));
  look();
  EXPECT_EQ(active(), (Lines{"dead_letter queue:work", "failure task:" + id.to_string()}));
  EXPECT_EQ(must(queue().alerts()).at(1).detail, "oom: 9 GiB");
  must(queue().retry(id));
  look();
  EXPECT_TRUE(active().empty());
}

}  // namespace
}  // namespace drover::test
