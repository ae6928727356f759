// Servers that are killed, and workers that are cut off from theirs: nothing is lost, nothing is done twice, and
// whoever is left goes on by itself.
#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "drover/open.h"
#include "e2e/e2e_test.h"
#include "e2e/server_process.h"
#include "support/must.h"

namespace drover::e2e {
namespace {

using test::must;

class ServerFaultsTest : public E2eTest {
 protected:
  // Everything that is started from now on goes through these servers.
  void use_servers(const std::string& urls, const std::string& token) {
    sandbox.set("DROVER_STORE", urls);
    sandbox.set("DROVER_TOKEN", token);
  }
  std::shared_ptr<TaskQueue> store() { return must(open_task_queue(sandbox.store_url(), Upkeep::kNone)); }
};

std::vector<Task> all_tasks(TaskQueue& queue) {
  std::vector<Task> tasks;
  std::optional<std::string> cursor;
  do {
    TaskPage page = must(queue.list({}, 1'000, cursor));
    std::ranges::move(page.tasks, std::back_inserter(tasks));
    cursor = std::move(page.cursor);
  } while (cursor);
  return tasks;
}

// Clients repeat what got no answer, with the same request ids.
TEST_F(ServerFaultsTest, TenThousandEnqueuesSurviveKilledServers) {
  constexpr int kClients = 8;
  constexpr int kBatches = 50;
  constexpr int kBatchSize = 25;
  constexpr int kKills = 5;
  constexpr int kAll = kClients * kBatches * kBatchSize;
  static_assert(kAll == 10'000);
  ServerProcess server(sandbox);
  const std::string token = create_token(sandbox, {"producer"});
  std::atomic<int> acknowledged = 0;
  std::atomic<int> repeated = 0;
  const auto produce = [&](int client) {
    const auto queue = must(open_task_queue(server.url(), Upkeep::kNone, token));
    for (int batch = 0; batch < kBatches; ++batch) {
      std::vector<TaskSpec> group;
      for (int i = 0; i < kBatchSize; ++i) {
        group.push_back({.type = "greet", .request_id = fmt::format("{}-{}-{}", client, batch, i)});
      }
      const Millis end = mono_now() + kHangs;
      while (!queue->enqueue(group) && mono_now() < end) {
        ++repeated;
        queue->wait_for_change(queue->changes(), Millis{20});  // of a server that is not there: a pause
      }
      acknowledged += kBatchSize;
    }
  };
  std::vector<std::jthread> clients;
  const std::string url = server.url();
  for (int client = 0; client < kClients; ++client) clients.emplace_back(produce, client);
  for (int kill = 1; kill <= kKills; ++kill) {
    const Millis end = mono_now() + kHangs;
    while (acknowledged < kill * kAll / (kKills + 1) && mono_now() < end) std::this_thread::yield();
    server.restart();
    ASSERT_EQ(server.url(), url);
  }
  clients.clear();
  EXPECT_EQ(acknowledged, kAll);
  EXPECT_GT(repeated, 0) << "no client noticed that its server was killed";
  std::set<std::string> requests;
  const std::vector<Task> tasks = all_tasks(*store());
  for (const Task& task : tasks) requests.insert(task.request_id.value_or(""));
  EXPECT_EQ(tasks.size(), static_cast<std::size_t>(kAll));
  EXPECT_EQ(requests.size(), static_cast<std::size_t>(kAll));
  sandbox.set("DROVER_STORE", sandbox.store_url());
  EXPECT_EQ(sandbox.drover({"fsck"}).exit_code, 0);
}

TEST_F(ServerFaultsTest, OneOfTwoServersMayDie) {
  constexpr int kTasks = 200;
  ServerProcess first(sandbox);
  ServerProcess second(sandbox);
  const std::string token = create_token(sandbox, {"admin"});
  use_servers(first.url() + "," + second.url(), token);
  const auto one = sandbox.start(work("one", agentsim({"print=done"}), {"--concurrency", "4"}));
  const auto other = sandbox.start(work("other", agentsim({"print=done"}), {"--concurrency", "4"}));
  use_servers(second.url() + "," + first.url(), token);
  const auto third = sandbox.start(work("one", agentsim({"print=done"}), {"--concurrency", "4"}));

  const auto queue = must(open_task_queue(first.url() + "," + second.url(), Upkeep::kNone, token));
  std::set<std::string> acknowledged;
  for (int i = 0; i < kTasks; ++i) {
    if (i == kTasks / 2) first.kill();
    const TaskSpec spec{.type = i % 2 == 0 ? "one" : "other", .request_id = fmt::format("r{}", i)};
    const Millis end = mono_now() + kHangs;
    auto enqueued = queue->enqueue_one(spec);
    while (!enqueued && mono_now() < end) enqueued = queue->enqueue_one(spec);
    acknowledged.insert(must(enqueued).id.to_string());
  }
  EXPECT_EQ(acknowledged.size(), static_cast<std::size_t>(kTasks));
  const Millis end = mono_now() + kHangs;
  std::size_t completed = 0;
  while (completed < acknowledged.size() && mono_now() < end) {
    queue->wait_for_change(queue->changes(), Millis{200});
    completed = must(queue->list({.states = {TaskState::kCompleted}}, 1'000, std::nullopt)).tasks.size();
  }
  EXPECT_EQ(completed, acknowledged.size());
  EXPECT_EQ(all_tasks(*store()).size(), acknowledged.size());
  for (Process* worker : {one.get(), other.get(), third.get()}) {
    EXPECT_FALSE(worker->wait(Millis{0})) << "a worker has stopped: " << worker->errors();
    worker->signal(SIGTERM);
  }
  for (Process* worker : {one.get(), other.get(), third.get()}) EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
}

// ---- a worker at the other end of a cable

// A network of its own, with a cable to this one.
class FarNetwork {
 public:
  explicit FarNetwork(const Sandbox& sandbox) : sandbox_(sandbox), name_(fmt::format("drover{}", ::getpid())) {
    const std::string far = near_ + "p";
    made_ = ip({"netns", "add", name_}) && ip({"link", "add", near_, "type", "veth", "peer", "name", far}) &&
            ip({"link", "set", far, "netns", name_}) && ip({"addr", "add", address(1) + "/30", "dev", near_}) &&
            ip({"link", "set", near_, "up"}) && ip({"-n", name_, "addr", "add", address(2) + "/30", "dev", far}) &&
            ip({"-n", name_, "link", "set", far, "up"}) && ip({"-n", name_, "link", "set", "lo", "up"});
  }
  ~FarNetwork() {
    static_cast<void>(ip({"link", "del", near_}));
    static_cast<void>(ip({"netns", "del", name_}));
  }
  FarNetwork(const FarNetwork&) = delete;
  FarNetwork& operator=(const FarNetwork&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& why_not() const { return error_; }
  // Of this end, as the other sees it.
  [[nodiscard]] std::string server_address() const { return address(1); }
  // Over there nobody hears that the cable is cut: what is sent gets no answer.
  void cut() { EXPECT_TRUE(ip({"link", "set", near_, "down"})) << error_; }
  void mend() { EXPECT_TRUE(ip({"link", "set", near_, "up"})) << error_; }
  [[nodiscard]] std::unique_ptr<Process> start_there(const Arguments& arguments) const {
    Command command{.argv = {"/usr/bin/env", "ip", "netns", "exec", name_, DROVER_BIN},
                    .environment = sandbox_.environment(),
                    .folder = sandbox_.folder(),
                    .input = {}};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return std::make_unique<Process>(command);
  }

 private:
  // A network that is set aside for tests of networks (RFC 2544).
  [[nodiscard]] static std::string address(int host) {
    const int number = ::getpid() % 16'000;
    return fmt::format("198.18.{}.{}", number / 64, (number % 64) * 4 + host);
  }
  bool ip(const Arguments& arguments) {
    Command command{.argv = {"/usr/bin/env", "ip"},
                    .environment = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin"},
                    .folder = sandbox_.folder(),
                    .input = {}};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run_to_end(command, kHangs);
    if (outcome.exit_code != 0) error_ = outcome.err;
    return outcome.exit_code == 0;
  }

  const Sandbox& sandbox_;
  std::string name_;
  std::string near_ = fmt::format("drv{}", ::getpid());
  std::string error_;
  bool made_ = false;
};

TEST_F(ServerFaultsTest, AWorkerThatIsCutOffIsFencedAndComesBack) {
  FarNetwork network(sandbox);
  if (!network.made())
    GTEST_SKIP() << "cannot make a network of its own here (needs root and ip): " << network.why_not();
  ServerProcess server(sandbox, network.server_address() + ":0", {"--insecure"});
  const std::string token = create_token(sandbox, {"admin"});
  EventStream events = sandbox.events();
  const std::string hangs = sandbox.enqueue({"work", "--payload", "\"hang\""});
  const std::string late = sandbox.enqueue({"work", "--payload", "\"late\""});
  // One agent never ends by itself; the other has its result while nobody can hear of it.
  sandbox.write_file("agent",
                     "read payload\ncase $payload in\n*hang*) exec sleep 600 ;;\n"
                     "*late*) while [ ! -e go ]; do sleep 0.05; done; echo '\"late\"' ;;\n"
                     "*) echo '\"back\"' ;;\nesac\n");
  use_servers(server.url(), token);
  const auto far = network.start_there(work("work", {"/bin/sh", sandbox.file("agent")}, {"--concurrency", "2"}));
  for (const std::string& id : {hangs, late}) ASSERT_TRUE(events.next("task.claimed", id)) << far->errors();
  const Millis running = mono_now() + kHangs;
  while (Sandbox::processes_of(hangs).size() < 2 && mono_now() < running) std::this_thread::yield();

  const auto near = sandbox.start(work("work", agentsim({"print=elsewhere"})));
  DeathWatch agents(Sandbox::processes_of(hangs));
  const Millis cut_at = mono_now();
  network.cut();
  sandbox.write_file("go", "");
  EXPECT_TRUE(agents.all_dead(kLease)) << "its agent must be dead before its lease has run out";
  for (const std::string& id : {hangs, late}) {
    const auto again = events.next("task.claimed", id);
    ASSERT_TRUE(again);
    EXPECT_EQ(at(*again, "run"), "2");
    EXPECT_TRUE(contains(at(*again, "data"), ":" + std::to_string(near->pid()) + ":"));
    ASSERT_TRUE(events.next("task.completed", id));
  }
  while (mono_now() < cut_at + 2 * kLease) static_cast<void>(near->wait(Millis{100}));
  network.mend();

  near->signal(SIGTERM);
  EXPECT_EQ(near->wait(kHangs), (Exit{.code = 0}));
  const std::string next = sandbox.enqueue({"work", "--payload", "\"next\""});
  ASSERT_TRUE(events.next("task.completed", next)) << "it did not come back: " << far->errors();
  EXPECT_EQ(at(sandbox.show(next), "result"), "back");
  for (const std::string& id : {hangs, late}) {
    const json::Value task = sandbox.show(id);
    EXPECT_EQ(at(task, "run"), "2");
    EXPECT_EQ(at(task, "stalls"), "1");
    EXPECT_EQ(at(task, "result"), "elsewhere\n") << "a late result was taken";
  }
  far->signal(SIGTERM);
  EXPECT_EQ(far->wait(kHangs), (Exit{.code = 0}));
}

}  // namespace
}  // namespace drover::e2e
