#include "worker/door.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "base/json.h"
#include "support/must.h"
#include "support/printers.h"
#include "unit/worker/process_support.h"

namespace drover::test {
namespace {

HttpResponse ask(FakeQueue& queue, const std::string& method, const std::string& target, const std::string& body,
                 UsageAtDoor usage = UsageAtDoor::kTaken) {
  LastWill will;
  return answer_door(queue, numbered_task(1), usage, {.method = method, .target = target, .body = body}, will);
}

std::string code_of_problem(const HttpResponse& response) {
  const auto body = json::parse(response.body);
  return body && body->find("code") != nullptr ? *body->find("code")->as_string() : "none";
}

TEST(AnswerDoor, ShowsTheTaskWithItsEarlierRuns) {
  FakeQueue queue;
  ClaimedTask claimed = numbered_task(1);
  claimed.task.checkpoint = R"({"step":3})";
  queue.tasks[claimed.task.id] = claimed.task;
  claimed.earlier_runs = {{.run = 2, .worker_id = "w", .outcome = "retrying"},
                          {.run = 1, .worker_id = "w", .outcome = "stalled"}};
  LastWill will;
  const HttpResponse response =
      answer_door(queue, claimed, UsageAtDoor::kRefused, {.method = "GET", .target = "/v1/task"}, will);
  ASSERT_EQ(response.status, 200);
  const auto body = json::parse(response.body);
  ASSERT_TRUE(body) << response.body;
  EXPECT_EQ(*body->find("id")->as_string(), claimed.task.id.to_string());
  EXPECT_EQ(body->find("checkpoint")->find("step")->as_int(), 3);
  ASSERT_EQ(body->find("earlier_runs")->as_array()->size(), 2U);
  EXPECT_EQ(body->find("earlier_runs")->as_array()->at(0).find("run")->as_int(), 2);
  EXPECT_EQ(response.body.find(claimed.lease.id.to_string()), std::string::npos) << "the lease stays on this side";
}

TEST(AnswerDoor, TakesProgressLogAndCheckpoint) {
  FakeQueue queue;
  EXPECT_EQ(ask(queue, "POST", "/v1/task/progress", R"({"percent":40,"message":"half"})").status, 204);
  EXPECT_EQ(ask(queue, "POST", "/v1/task/progress", R"({"percent":100})").status, 204);
  EXPECT_EQ(queue.progresses, (std::vector<Progress>{{40, "half"}, {100, ""}}));
  EXPECT_EQ(ask(queue, "POST", "/v1/task/log", R"({"text":"as it is"})").status, 204);
  EXPECT_EQ(ask(queue, "POST", "/v1/task/log", R"({"lines":["a","b"]})").status, 204);
  EXPECT_EQ(ask(queue, "POST", "/v1/task/log", R"({"lines":[]})").status, 204);
  EXPECT_EQ(queue.log_text(LogStream::kOut), "as it isa\nb\n");
  EXPECT_EQ(ask(queue, "POST", "/v1/task/checkpoint", R"({ "z": 1e400 })").status, 204);
  EXPECT_EQ(queue.checkpoints, std::vector<JsonText>{R"({"z":1e400})"});
}

TEST(AnswerDoor, TakesUsageWhereTheProfileAllowsIt) {
  FakeQueue queue;
  const std::string body =
      R"({"usage":{"input_tokens":7,"turns":1,"cost_usd":0.5,"cost_basis":"reported","models":{"m":{"input_tokens":7}}}})";
  const HttpResponse refused = ask(queue, "POST", "/v1/task/usage", body, UsageAtDoor::kRefused);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(code_of_problem(refused), "forbidden");
  EXPECT_TRUE(refused.body.contains("reports_usage: true")) << refused.body;
  EXPECT_TRUE(queue.calls.empty()) << "nothing reached the queue";
  EXPECT_EQ(ask(queue, "POST", "/v1/task/usage", body).status, 204);
  ASSERT_EQ(queue.reports.size(), 1U);
  EXPECT_EQ(queue.reports[0].usage->tokens.input, 7);
  EXPECT_EQ(queue.reports[0].usage->cost, 500'000);
  EXPECT_EQ(queue.reports[0].agent, std::nullopt);
}

TEST(AnswerDoor, HearsWhyTheRunFails) {
  FakeQueue queue;
  const auto said = [&](const std::string& body) {
    LastWill will;
    const HttpResponse answer = answer_door(queue, numbered_task(1), UsageAtDoor::kRefused,
                                            {.method = "POST", .target = "/v1/task/fail", .body = body}, will);
    EXPECT_EQ(answer.status, 204) << answer.body;
    return will.failure.value_or(Failure{.message = "nothing was heard"});
  };
  const Failure whole =
      said(R"({"class":"rate_limited","message":"busy","retry_after":"1m30s","note":"use the other key"})");
  EXPECT_EQ(whole.error_class, ErrorClass::kRateLimited);
  EXPECT_EQ(whole.message, "busy");
  EXPECT_EQ(whole.retry_after, Millis(90'000));
  EXPECT_EQ(whole.note, "use the other key");
  EXPECT_EQ(said(R"({"class":"overloaded","retry_after":30})").retry_after, Millis(30'000));
  const Failure bare = said(R"({"class":"invalid","message":null,"retry_after":null,"note":null})");
  EXPECT_EQ(bare.message, "the run reported that it failed");
  EXPECT_EQ(bare.retry_after, std::nullopt);
  EXPECT_TRUE(queue.calls.empty()) << "it is told to the queue when the run ends";
}

TEST(AnswerDoor, ShowsWhatTheParentsProduced) {
  FakeQueue queue;
  ClaimedTask claimed = numbered_task(1);
  Task plan = numbered_task(2).task;
  plan.ref = "plan";
  plan.state = TaskState::kCompleted;
  plan.result = R"({"z":1.50})";
  Task large = numbered_task(3).task;
  large.state = TaskState::kCompleted;
  large.result = json::quote(std::string(100'000, 'x'));
  const TaskId gone = numbered_task(4).task.id;
  claimed.task.depends_on = {plan.id, large.id, gone};
  for (const Task& task : {claimed.task, plan, large}) queue.tasks[task.id] = task;
  LastWill will;
  const auto get = [&](const std::string& target) {
    return answer_door(queue, claimed, UsageAtDoor::kRefused, {.method = "GET", .target = target}, will);
  };
  const auto body = must(json::parse(get("/v1/task").body));
  const auto& parents = *body.find("parents")->as_array();
  ASSERT_EQ(parents.size(), 3U);
  EXPECT_EQ(json::dump(parents[0]),
            fmt::format(R"({{"id":"{}","ref":"plan","type":"{}","state":"completed","result":{{"z":1.50}},)"
                        R"("error":null,"truncated":false,"expired":false}})",
                        plan.id.to_string(), plan.type));
  EXPECT_TRUE(parents[1].find("result")->is_null());
  EXPECT_EQ(*parents[1].find("truncated")->as_bool(), true);
  EXPECT_EQ(*parents[2].find("expired")->as_bool(), true);
  EXPECT_TRUE(parents[2].find("state")->is_null());
  EXPECT_EQ(get("/v1/task/parents/plan/result").body, "{\"z\":1.50}\n");
  EXPECT_EQ(get(fmt::format("/v1/task/parents/{}/result", large.id.to_string())).body, *large.result + "\n");
  EXPECT_EQ(get(fmt::format("/v1/task/parents/{}/result", gone.to_string())).status, 404);
  EXPECT_EQ(get("/v1/task/parents/nobody/result").status, 404);
  EXPECT_EQ(get("/v1/task/parents//result").status, 404);
}

TEST(AnswerDoor, TakesTheWishToWait) {
  FakeQueue queue;
  const ClaimedTask claimed = numbered_task(1);
  Task child = numbered_task(2).task;
  child.parent_id = claimed.task.id;
  const Task stranger = numbered_task(3).task;
  for (const Task& task : {claimed.task, child, stranger}) queue.tasks[task.id] = task;
  LastWill will;
  const auto wait = [&](const std::string& children) {
    const std::string body = fmt::format(R"({{"children":{}}})", children);
    return answer_door(queue, claimed, UsageAtDoor::kRefused,
                       {.method = "POST", .target = "/v1/task/wait", .body = body}, will);
  };
  EXPECT_EQ(code_of_problem(wait("null")), "invalid_argument");
  EXPECT_EQ(code_of_problem(wait("\"some\"")), "invalid_argument");
  EXPECT_EQ(code_of_problem(wait(fmt::format(R"(["{}"])", stranger.id.to_string()))), "unknown_parent");
  EXPECT_FALSE(will.wait.has_value());
  EXPECT_EQ(wait("\"all\"").status, 204);
  ASSERT_TRUE(will.wait.has_value());
  EXPECT_FALSE(will.wait->children.has_value());
  EXPECT_EQ(wait(fmt::format(R"(["{}"])", child.id.to_string())).status, 204);
  EXPECT_EQ(will.wait->children, std::vector{child.id});
}

TEST(AnswerDoor, AWishToWaitCountsOnlyForARunThatEndsWell) {
  const LastWill will{.wait = Suspend{}};
  EXPECT_TRUE(std::holds_alternative<Suspend>(with_will(Completion{.exit_code = 0}, will)));
  EXPECT_TRUE(std::holds_alternative<Suspend>(
      with_will(Failure{.error_class = ErrorClass::kResultTooLarge, .exit_code = 0}, will)));
  EXPECT_TRUE(std::holds_alternative<Failure>(with_will(Failure{.exit_code = 1}, will)));
  EXPECT_TRUE(std::holds_alternative<Release>(with_will(Release{}, will)));
  EXPECT_TRUE(std::holds_alternative<CancelConfirmed>(with_will(CancelConfirmed{}, will)));
  EXPECT_TRUE(std::holds_alternative<Completion>(with_will(Completion{}, {})));
}

TEST(AnswerDoor, SpawnsOneOrMany) {
  FakeQueue queue;
  const HttpResponse one = ask(queue, "POST", "/v1/tasks", R"({"type":"child","payload":{"n":0.10}})");
  EXPECT_EQ(one.status, 201);
  EXPECT_EQ(*must(json::parse(one.body)).find("state")->as_string(), "pending");
  const HttpResponse many = ask(queue, "POST", "/v1/tasks", R"({"tasks":[{"type":"a"},{"type":"b"}]})");
  EXPECT_EQ(many.status, 201);
  EXPECT_EQ(must(json::parse(many.body)).find("tasks")->as_array()->size(), 2U);
  ASSERT_EQ(queue.spawned.size(), 3U);
  EXPECT_EQ(queue.spawned[0].payload, R"({"n":0.10})");
  EXPECT_EQ(queue.spawned[2].type, "b");
}

TEST(AnswerDoor, RefusesWhatItDoesNotUnderstand) {
  struct Row {
    std::string method;
    std::string target;
    std::string body;
    int status;
    std::string code;
  };
  const std::vector<Row> rows{
      {"GET", "/", "", 404, "not_found"},
      {"GET", "/v1/tasks/x", "", 404, "not_found"},
      {"DELETE", "/v1/task", "", 405, "invalid_argument"},
      {"GET", "/v1/tasks", "", 405, "invalid_argument"},
      {"GET", "/v1/task", "", 404, "not_found"},
      {"POST", "/v1/task/progress", "{", 400, "invalid_json"},
      {"POST", "/v1/task/progress", "[]", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", "{}", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", R"({"percent":101})", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", R"({"percent":-1})", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", R"({"percent":1.5})", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", R"({"percent":1,"message":3})", 400, "invalid_argument"},
      {"POST", "/v1/task/progress", R"({"percent":1,"extra":3})", 400, "invalid_argument"},
      {"POST", "/v1/task/log", "{}", 400, "invalid_argument"},
      {"POST", "/v1/task/log", R"({"text":"a","lines":[]})", 400, "invalid_argument"},
      {"POST", "/v1/task/log", R"({"text":1})", 400, "invalid_argument"},
      {"POST", "/v1/task/log", R"({"lines":"a"})", 400, "invalid_argument"},
      {"POST", "/v1/task/log", R"({"lines":[1]})", 400, "invalid_argument"},
      {"POST", "/v1/task/checkpoint", "", 400, "invalid_json"},
      {"GET", "/v1/task/usage", "", 405, "invalid_argument"},
      {"POST", "/v1/task/usage", "{", 400, "invalid_json"},
      {"POST", "/v1/task/usage", "{}", 400, "invalid_argument"},
      {"POST", "/v1/task/usage", R"({"usage":null})", 400, "invalid_argument"},
      {"POST", "/v1/task/usage", R"({"usage":{"turns":-1}})", 400, "invalid_argument"},
      {"POST", "/v1/task/usage", R"({"usage":{"input":1}})", 400, "invalid_argument"},
      {"POST", "/v1/task/usage", R"({"usage":{},"agent":{"preset":"claude"}})", 400, "invalid_argument"},
      {"GET", "/v1/task/fail", "", 405, "invalid_argument"},
      {"POST", "/v1/task/fail", "{", 400, "invalid_json"},
      {"POST", "/v1/task/fail", "{}", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":null})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"rate_limit"})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"deadline"})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","retry_after":-1})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","retry_after":1e15})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","retry_after":"soon"})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","message":1})", 400, "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","note":")" + std::string(16'385, 'x') + R"("})", 400,
       "invalid_argument"},
      {"POST", "/v1/task/fail", R"({"class":"auth","exit_code":1})", 400, "invalid_argument"},
      {"POST", "/v1/tasks", "{}", 400, "invalid_argument"},
      {"POST", "/v1/tasks", R"({"tasks":[]})", 400, "invalid_argument"},
      {"POST", "/v1/tasks", R"({"tasks":{}})", 400, "invalid_argument"},
      {"POST", "/v1/tasks", R"({"tasks":[{"type":"a"}],"more":1})", 400, "invalid_argument"},
      {"POST", "/v1/tasks", R"({"tasks":[{"type":"a"},{"type":5}]})", 400, "invalid_argument"},
  };
  FakeQueue queue;
  for (const Row& row : rows) {
    const HttpResponse response = ask(queue, row.method, row.target, row.body);
    EXPECT_EQ(response.status, row.status) << row.target << " " << row.body;
    EXPECT_EQ(code_of_problem(response), row.code) << row.target << " " << row.body;
  }
  EXPECT_TRUE(queue.calls.empty()) << "nothing reached the queue";
}

TEST(AnswerDoor, PassesOnWhatTheQueueRefuses) {
  FakeQueue queue;
  queue.outage = Error{ErrorCode::kStaleLease, "not yours any more", {}};
  for (const auto& [target, body] : {std::pair{"/v1/task/progress", R"({"percent":1})"},
                                     {"/v1/task/log", R"({"text":"x"})"},
                                     {"/v1/task/checkpoint", "1"},
                                     {"/v1/task/usage", R"({"usage":{"turns":1}})"},
                                     {"/v1/tasks", R"({"type":"a"})"}}) {
    const HttpResponse response = ask(queue, "POST", target, body);
    EXPECT_EQ(response.status, 409) << target;
    EXPECT_EQ(code_of_problem(response), "stale_lease");
  }
}

// ---- the socket

// A door that is answered on this thread, with its loop on another.
class OpenDoor {
 public:
  explicit OpenDoor(Door::Handle handle) : door_(must(Door::open(loop_, budget_, path(), std::move(handle)))) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        loop_.run_once(Millis{20});
        std::ignore = door_->tick(system_clock().mono());
      }
    });
  }
  ~OpenDoor() {
    thread_.request_stop();
    thread_.join();
  }
  [[nodiscard]] std::string path() const { return dir_.file("door"); }
  [[nodiscard]] std::string url() const { return "unix:" + path(); }

 private:
  TempDir dir_;
  EventLoop loop_;
  ByteBudget budget_{kDoorBytesMax};
  std::unique_ptr<Door> door_;
  std::jthread thread_;
};

Door::Handle echo() {
  return [](const HttpRequest& request, const Door::Reply& reply) {
    reply({.body = request.target + "|" + request.body});
  };
}

// A client that can misbehave.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void send(std::string_view text) const {
    EXPECT_GT(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL), 0);
  }
  // Everything until `end` was seen, or the connection closed.
  [[nodiscard]] std::string read_until(std::string_view end) const {
    std::string text;
    pollfd wait{socket_.get(), POLLIN, 0};
    while (text.find(end) == std::string::npos && ::poll(&wait, 1, static_cast<int>(kLong.count())) == 1) {
      char buffer[4096];
      const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (size <= 0) break;
      text.append(buffer, static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  UniqueFd socket_;
};

TEST(DoorSocket, OnlyItsOwnerCanUseIt) {
  const OpenDoor door(echo());
  struct stat info{};
  ASSERT_EQ(::stat(door.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(DoorSocket, AnswersRequests) {
  const OpenDoor door(echo());
  EXPECT_EQ(must(door_request(door.url(), "POST", "/a", "hello", kLong)), "/a|hello");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(must(door_request(door.url(), "POST", "/b", large, kLong)).size(), large.size() + 3);
}

TEST(DoorSocket, KeepsAConnectionForMoreThanOneRequest) {
  const OpenDoor door(echo());
  const RawClient client(door.path());
  client.send("GET /one HTTP/1.1\r\n\r\nGET /two HTTP/1.1\r\n\r\n");
  const std::string answers = client.read_until("/two|");
  EXPECT_NE(answers.find("/one|"), std::string::npos);
  client.send("GET /three HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_until("never").find("/three|"), std::string::npos) << "read to the end of the stream";
}

TEST(DoorSocket, TellsAWaitingClientToGoOn) {
  const OpenDoor door(echo());
  const RawClient client(door.path());
  client.send("POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("100 Continue"), std::string::npos);
  client.send("ok");
  EXPECT_NE(client.read_until("|ok").find("/x|ok"), std::string::npos);
}

TEST(DoorSocket, RefusesNonsenseAndHangsUp) {
  const OpenDoor door(echo());
  const RawClient client(door.path());
  client.send("what?\r\n\r\n");
  const std::string answer = client.read_until("never");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("application/problem+json"), std::string::npos);
}

TEST(DoorSocket, MoreClientsThanPlacesAreServedInTurn) {
  const OpenDoor door(echo());
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 16; ++i) silent.push_back(std::make_unique<RawClient>(door.path()));
  const RawClient late(door.path());
  late.send("GET /late HTTP/1.1\r\nConnection: close\r\n\r\n");
  silent.clear();
  EXPECT_NE(late.read_until("never").find("/late|"), std::string::npos);
}

TEST(DoorSocket, AClientThatLeavesWhileItIsAnsweredIsForgotten) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Door::Reply> waiting;
  const OpenDoor door([&](const HttpRequest& request, const Door::Reply& reply) {
    if (request.target == "/quick") return reply({.body = "quick"});
    const std::scoped_lock lock(mutex);
    waiting.push_back(reply);
    changed.notify_all();
  });
  {
    const RawClient client(door.path());
    client.send("GET /slow HTTP/1.1\r\n\r\n");
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, kLong, [&] { return !waiting.empty(); }));
  }
  EXPECT_EQ(must(door_request(door.url(), "GET", "/quick", "", kLong)), "quick") << "the loop goes on";
}

TEST(DoorRequest, SaysWhenNobodyIsThere) {
  EXPECT_EQ(code_of(door_request("unix:/nowhere/door", "GET", "/", "", kLong)), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(code_of(door_request("http://x", "GET", "/", "", kLong)), ErrorCode::kInvalidArgument);
}

TEST(DoorRequest, GivesUpOnASilentDoor) {
  const OpenDoor door([](const HttpRequest&, const Door::Reply&) {});
  EXPECT_EQ(code_of(door_request(door.url(), "GET", "/", "", Millis{50})), ErrorCode::kStoreUnavailable);
}

TEST(DoorRequest, TellsTheErrorThatTheDoorTells) {
  const OpenDoor door([](const HttpRequest&, const Door::Reply& reply) {
    reply(problem(Error{ErrorCode::kLimitExceeded, "too many children", {}}));
  });
  const auto answer = door_request(door.url(), "POST", "/v1/tasks", "{}", kLong);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(answer.error().message, "too many children");
}

// ---- from a real agent

TEST(DoorOfARun, ProgressLogCheckpointAndChildren) {
  RunsFixture fixture;
  fixture.start_agent(
      R"({"progress":40,"message":"half","log":"hello","checkpoint":{"at": 3},"children":2,"child_type":"sub","child_payload":{"n":1},"print":"1"})");
  EXPECT_EQ(get_end<Completion>(fixture.wait_ended()).result, "1");
  EXPECT_EQ(fixture.queue.progresses, (std::vector<Progress>{{40, "half"}}));
  EXPECT_EQ(fixture.queue.checkpoints, std::vector<JsonText>{R"({"at":3})"});
  EXPECT_NE(fixture.queue.log_text(LogStream::kOut).find("hello\n"), std::string::npos);
  ASSERT_EQ(fixture.queue.spawned.size(), 2U);
  EXPECT_EQ(fixture.queue.spawned[1].type, "sub");
  EXPECT_EQ(fixture.queue.spawned[1].payload, R"({"n":1})");
}

TEST(DoorOfARun, ShowsItsTask) {
  RunsFixture fixture;
  const ClaimedTask claimed = numbered_task(1);
  fixture.queue.tasks[claimed.task.id] = claimed.task;
  fixture.start_agent(R"({"show_task":true})");
  const auto result = json::parse(get_end<Completion>(fixture.wait_ended()).result.value_or(""));
  ASSERT_TRUE(result);
  EXPECT_EQ(*result->find("id")->as_string(), claimed.task.id.to_string());
}

TEST(DoorOfARun, TalkingCountsAsASignOfLife) {
  RunsFixture fixture;
  ClaimedTask claimed = numbered_task(1);
  claimed.task.idle_timeout = Millis{400};
  claimed.task.payload = R"({"progress":1,"hang":true})";
  const MonoTime started_at = system_clock().mono();
  fixture.start(std::move(claimed));
  EXPECT_EQ(get_end<Failure>(fixture.wait_ended()).error_class, ErrorClass::kTimeout);
  EXPECT_GE(system_clock().mono() - started_at, Millis{400});
}

}  // namespace
}  // namespace drover::test
