// /metrics: the counters say what the event log says.
#include <fmt/format.h>

#include <csignal>
#include <map>
#include <sstream>

#include "e2e/serving.h"
#include "net/http_client.h"
#include "remote/server_url.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

class MetricsTest : public ServingTest {
 protected:
  HttpResponse get(const std::string& target, const std::string& token) const {
    HttpClient client(test::must(parse_server_url(url())).endpoint);
    HttpHeaders headers{{"host", "localhost"}, {"authorization", "Bearer " + token}};
    return test::must(
        client.exchange({.method = "GET", .target = target, .body = {}, .headers = std::move(headers)}, kHangs));
  }
  // Every sample by its name with labels.
  static std::map<std::string, double> samples_of(const std::string& text) {
    std::map<std::string, double> samples;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::size_t space = line.rfind(' ');
      samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
    }
    return samples;
  }
  std::string event_log() {
    sandbox.set("DROVER_STORE", sandbox.store_url());
    return sandbox.must({"events", "--json", "--limit", "10000"});
  }
  // Some that end well, one that fails and is retried by hand, one that is cancelled, one that waits.
  void run_a_mix() {
    for (int i = 0; i < 5; ++i) sandbox.enqueue({"greet"});
    work_until_empty("greet", agentsim({"print=hello"}));
    const std::string bad = sandbox.enqueue({"bad", "--max-attempts", "2", "--retry", "fixed:1ms"});
    work_until_empty("bad", agentsim({"exit=1"}));
    sandbox.must({"retry", bad});
    work_until_empty("bad", agentsim({"print=better"}));
    sandbox.must({"cancel", sandbox.enqueue({"later", "--delay", "1h"})});
    sandbox.write_file("ask.sh", fmt::format("{} ask \"$(cat)\" --wait 0s\n", DROVER_BIN));
    for (const char* text : {"\"Shall I?\"", "\"And I?\""}) sandbox.enqueue({"asks", "--payload", text});
    work_until_empty("asks", {"/bin/sh", sandbox.file("ask.sh")});
    const json::Value open = sandbox.must_json({"question", "list", "--json"});
    sandbox.must({"question", "answer", at(open.as_array()->front(), "id"), "yes"});
    sandbox.enqueue({"waits"});
    sandbox.must({"gate", "close", "queue:waits"});
  }
};

TEST_F(MetricsTest, CountersAgreeWithTheEventLogAfterAMixedRun) {
  const auto server = start_server();
  const std::string token = create_token({"admin"});
  use_server(token);
  run_a_mix();
  const HttpResponse scraped = get("/metrics", token);
  ASSERT_EQ(scraped.status, 200) << scraped.body;
  const auto samples = samples_of(scraped.body);
  std::map<std::string, double> counted;
  double sum = 0;
  for (const auto& [name, value] : samples) {
    if (!name.starts_with("drover_events_total{")) continue;
    counted[name] = value;
    sum += value;
  }
  const double last = samples.at("drover_events_seq");
  std::map<std::string, double> logged;
  std::istringstream log(event_log());
  for (std::string line; std::getline(log, line);) {
    const json::Value event = test::must(json::parse(line));
    if (std::stod(at(event, "seq")) > last) continue;
    ++logged[fmt::format(R"(drover_events_total{{event="{}"}})", at(event, "name"))];
  }
  EXPECT_EQ(counted, logged);
  EXPECT_EQ(sum, last) << "the server was there from the first event on";
  EXPECT_EQ(samples.at(R"(drover_tasks{queue="greet",state="completed"})"), 5);
  EXPECT_EQ(samples.at(R"(drover_tasks{queue="waits",state="pending"})"), 1);
  EXPECT_EQ(samples.at(R"(drover_tasks{queue="later",state="cancelled"})"), 1);
  EXPECT_EQ(samples.at(R"(drover_gates_closed{kind="queue"})"), 1);
  EXPECT_EQ(samples.at(R"(drover_run_duration_seconds_count{queue="bad"})"), 3);
  EXPECT_EQ(samples.at(R"(drover_task_pick_up_seconds_count{queue="greet"})"), 5);
  EXPECT_EQ(samples.at("drover_task_runs_count"), 8) << "the bad one ended twice";
  EXPECT_EQ(samples.at(R"(drover_questions{state="open"})"), 1);
  EXPECT_EQ(samples.at(R"(drover_questions{state="answered"})"), 1);
  EXPECT_EQ(samples.at("drover_answer_waits"), 1);
  EXPECT_GE(samples.at("drover_oldest_question_seconds"), 0);
  EXPECT_EQ(samples.at(R"(drover_question_wait_seconds_count{state="answered"})"), 1);
  EXPECT_EQ(samples.at("drover_store_up"), 1);
  EXPECT_EQ(samples.at("drover_events_missed_total"), 0);
  EXPECT_GE(samples.at(R"(drover_http_requests_total{method="POST",route="/v1/tasks",status="201"})"), 8);
  EXPECT_GT(samples.at("process_resident_memory_bytes"), 1e6);
}

TEST_F(MetricsTest, AreForOperatorsAndNameNoOwner) {
  const auto server = start_server();
  const std::string operators = create_token({"operator"});
  const std::string producer = create_token({"producer", "--owner", "anna-the-owner"});
  use_server(producer);
  sandbox.enqueue({"greet"});
  EXPECT_EQ(get("/metrics", producer).status, 403);
  EXPECT_EQ(get("/metrics", "nobody").status, 401);
  const HttpResponse scraped = get("/metrics", operators);
  EXPECT_EQ(scraped.status, 200);
  EXPECT_EQ(scraped.body.find("anna-the-owner"), std::string::npos);
}

TEST_F(MetricsTest, QueuesBeyondTheBoundAreOther) {
  const auto server = start_server();
  const std::string token = create_token({"admin"});
  std::string batch;
  for (int i = 0; i < 130; ++i) batch += fmt::format("{{\"type\":\"t\",\"queue\":\"q{}\"}}\n", i);
  sandbox.must({"enqueue", "--batch", "-"}, batch);
  const auto samples = samples_of(get("/metrics", token).body);
  EXPECT_EQ(samples.at(R"(drover_tasks{queue="other",state="pending"})"), 30);
  EXPECT_GT(samples.at(R"(drover_oldest_waiting_seconds{queue="other"})"), 0);
}

}  // namespace
}  // namespace drover::e2e
