// The stores that the suite runs on.
#include <cstdlib>
#include <optional>

#include "conformance/queue_fixture.h"
#include "engine/engine.h"
#include "engine/local_administration.h"
#include "engine/sweepers.h"
#include "remote/remote_queue.h"
#include "server/server.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

namespace drover::test {
namespace {

// An engine of our own over a store that runs on the test's clock.
class EngineFixture : public QueueFixture {
 public:
  TaskQueue& queue() override { return *engine_; }
  Store& store() override { return *store_; }
  [[nodiscard]] Administration& administration() { return *administration_; }
  Time now() override { return clock_.wall(); }
  void advance(Millis by) override { clock_.advance(by); }
  void set_clock(Millis by) override { clock_.jump_wall(by); }
  void sweep() override { must(Sweepers(*engine_).run_once()); }
  void watch_health() override { must(Sweepers(*engine_).watch_health()); }
  std::int64_t fold_history() override { return must(Sweepers(*engine_).fold_history()); }

 protected:
  [[nodiscard]] Clock& clock() { return clock_; }
  void start_on(std::unique_ptr<Store> store) {
    store_ = std::move(store);
    start_engine();
  }
  void start_engine() {
    engine_.emplace(*store_, rng_);
    administration_.emplace(*store_, *engine_, rng_);
  }
  void close() {
    administration_.reset();
    engine_.reset();
    store_.reset();
  }

 private:
  ManualClock clock_;
  LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  std::optional<Engine> engine_;
  std::optional<LocalAdministration> administration_;
};

class EmbeddedFixture : public EngineFixture {
 protected:
  void open(const std::string& path) {
    SqliteOptions options;
    options.path = path;
    options.clock = &clock();
    options.synchronous = SqliteOptions::Synchronous::kNormal;  // no case here cuts the power
    options.ballast_bytes = 0;  // room for a full disk is the store's own affair, and its own tests'
    start_on(must(open_sqlite(std::move(options))));
  }
};

class MemoryFixture final : public EmbeddedFixture {
 public:
  MemoryFixture() { open(""); }
  // The store is the process here, so only what stands on it starts anew.
  void reopen() override { start_engine(); }
};

class SqliteFileFixture final : public EmbeddedFixture {
 public:
  SqliteFileFixture() { open(path_); }
  ~SqliteFileFixture() override { close(); }
  void reopen() override {
    close();
    open(path_);
  }

 private:
  TempDir folder_;
  std::string path_ = folder_.file("drover.db");
};

// One server for all cases of a process; each has keys of its own.
class RedisFixture final : public EngineFixture {
 public:
  RedisFixture() { open(); }
  ~RedisFixture() override { close(); }
  void reopen() override {
    close();
    open();
  }

 private:
  void open() {
    drover::RedisOptions options;
    options.address = shared_redis().address(prefix_);
    options.test_clock = &clock();
    start_on(must(open_redis(std::move(options))));
  }

  std::string prefix_ = fresh_prefix();
};

// Whoever comes is an admin: what the roles may do has tests of its own.
class OpenDoor final : public server::Doorkeeper {
 public:
  Result<Principal> principal(std::string_view /*token*/) override {
    return Principal{.token_id = "test", .role = Role::kAdmin, .owner = {}, .queues = {}};
  }
};

// A server in front of another fixture's queue, and a client of it.
template <class Inner>
class ServedFixture final : public QueueFixture {
 public:
  ServedFixture() { open(); }
  ~ServedFixture() override { close(); }
  TaskQueue& queue() override { return *client_; }
  Store& store() override { return inner_.store(); }
  Time now() override { return inner_.now(); }
  void advance(Millis by) override { inner_.advance(by); }
  void set_clock(Millis by) override { inner_.set_clock(by); }
  void sweep() override { inner_.sweep(); }
  void watch_health() override { inner_.watch_health(); }
  std::int64_t fold_history() override { return inner_.fold_history(); }
  std::string signed_as(const std::string& /*by*/) override { return "token:test"; }
  void reopen() override {
    close();
    inner_.reopen();
    open();
  }

 private:
  // Something may stand between the two (tests/api), which then says where to listen and whom to ask.
  void open() {
    const char* listen = std::getenv("DROVER_TEST_LISTEN");
    const char* url = std::getenv("DROVER_TEST_URL");
    server_ = must(server::Server::start(inner_.queue(), inner_.administration(), door_,
                                         {.listen = {listen != nullptr ? listen : "127.0.0.1:0"}}));
    client_ = must(open_remote({.url = url != nullptr ? url : server_->addresses().front(), .token = "test"}));
  }
  void close() {
    client_.reset();
    server_.reset();
  }

  Inner inner_;
  OpenDoor door_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<TaskQueue> client_;
};

template <class Fixture>
std::unique_ptr<QueueFixture> make() {
  return std::make_unique<Fixture>();
}

}  // namespace

const std::vector<QueueFixtureFactory>& queue_fixture_factories() {
  static const std::vector<QueueFixtureFactory> all{
      {"memory", make<MemoryFixture>},
      {"sqlite", make<SqliteFileFixture>},
      {"redis", make<RedisFixture>},
      {"served_sqlite", make<ServedFixture<SqliteFileFixture>>},
      {"served_redis", make<ServedFixture<RedisFixture>>},
  };
  return all;
}

}  // namespace drover::test
