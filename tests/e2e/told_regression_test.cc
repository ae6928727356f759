// A store is set back and served by a machine that never saw it: a remote worker that had seen more says so.
#include <csignal>
#include <filesystem>
#include <functional>

#include "e2e/e2e_test.h"
#include "e2e/server_process.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

namespace fs = std::filesystem;

class ToldRegressionTest : public E2eTest {
 protected:
  // A server on a machine of its own: nothing that another one kept is known to it.
  void start_server(const std::string& machine) {
    sandbox.set("XDG_STATE_HOME", sandbox.file(machine));
    server_ = sandbox.start({"--store", store_, "serve", "--listen", address_});
    address_ = address_of(*server_);
  }
  std::string at_store(Arguments arguments) {
    arguments.insert(arguments.begin(), {"--store", store_});
    return sandbox.must(arguments);
  }
  void run_task() { EXPECT_EQ(at_server({"run", "work"}).exit_code, 0); }
  [[nodiscard]] Outcome at_server(Arguments arguments) {
    sandbox.set("XDG_STATE_HOME", sandbox.file("client"));
    arguments.insert(arguments.begin(), {"--store", "http://" + address_});
    return sandbox.drover(arguments);
  }

  // Three tasks, of which `save` keeps the first; `set_back` brings that back while no server runs.
  void tells(const std::function<void()>& save, const std::function<void()>& set_back) {
    start_server("first");
    std::string token = at_store({"token", "create", "--role", "admin"});
    token.pop_back();
    sandbox.set("DROVER_TOKEN", token);
    sandbox.set("XDG_STATE_HOME", sandbox.file("worker"));
    const auto worker = sandbox.start({"--store", "http://" + address_, "work", "--type", "work", "--", "/bin/true"});
    run_task();
    save();
    run_task();
    run_task();
    server_->signal(SIGKILL);
    static_cast<void>(server_->wait(kHangs));
    set_back();
    start_server("second");
    Outcome shown = at_server({"store", "show"});
    const Millis end = mono_now() + kHangs;
    while (shown.exit_code == 0 && mono_now() < end) shown = at_server({"store", "show"});
    EXPECT_EQ(shown.exit_code, 1) << shown.out << shown.err << server_->errors();
    EXPECT_TRUE(contains(shown.out + shown.err, "events ")) << "which range";
    EXPECT_TRUE(contains(server_->errors(), "a client has seen events that the store no longer has"))
        << server_->errors();
    EXPECT_EQ(at_server({"doctor"}).exit_code, 1);
    // Nothing is claimed until somebody accepts it.
    EXPECT_EQ(at_server({"store", "accept-regression"}).exit_code, 0);
    run_task();
    EXPECT_EQ(at_server({"store", "show"}).exit_code, 0);
  }

  std::string store_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<Process> server_;
};

TEST_F(ToldRegressionTest, AnOlderCopyOfADatabase) {
  store_ = "sqlite:" + sandbox.file("one/drover.db");
  tells(
      [&] {
        // Nothing writes to the log while the server is frozen.
        server_->signal(SIGSTOP);
        fs::create_directory(sandbox.file("copy"));
        for (const char* part : {"drover.db", "drover.db-wal"}) {
          fs::copy_file(sandbox.file("one/") + part, sandbox.file("copy/") + part);
        }
        server_->signal(SIGCONT);
      },
      [&] {
        // As on a new machine: no mark is beside it.
        fs::remove_all(sandbox.file("one"));
        fs::rename(sandbox.file("copy"), sandbox.file("one"));
      });
}

TEST_F(ToldRegressionTest, AnOlderDumpOfRedis) {
  test::RedisServer redis{{.more = {"--save", ""}}};
  store_ = redis.tcp_url();
  const fs::path dump = redis.dir().path() / "dump.rdb";
  tells(
      [&] {
        redis.run(redis::Command("SAVE"));
        fs::rename(dump, sandbox.file("older.rdb"));
      },
      [&] {
        redis.kill_hard();
        fs::copy_file(sandbox.file("older.rdb"), dump, fs::copy_options::overwrite_existing);
        redis.start();
      });
}

}  // namespace
}  // namespace drover::e2e
