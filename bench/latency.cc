// How soon somebody who waits learns that there is work.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/failpoint.h"
#include "bench_store.h"
#include "cases.h"
#include "drover/worker.h"
#include "peer.h"

namespace drover::bench {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kWakeBarMs = 5;  // issue: the second process is woken within 5 ms at p50
constexpr Millis kPatience{10'000};

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Long enough for whoever waits to be asleep again.
void let_them_wait() {
  ::poll(nullptr, 0, 3);
}

Latency latency_of(const std::vector<double>& samples, std::optional<double> p50_bar_ms) {
  return {.p50_ms = percentile(samples, 0.5), .p99_ms = percentile(samples, 0.99), .p50_bar_ms = p50_bar_ms};
}

// When the latest enqueue was on disk, told by the failpoint right behind its commit.
class CommitTime {
 public:
  CommitTime() {
    set_failpoint_handler([this](std::string_view name) {
      if (name == "enqueue.after_commit") at_ns_ = now_ns();
    });
  }
  ~CommitTime() { set_failpoint_handler({}); }
  CommitTime(const CommitTime&) = delete;
  CommitTime& operator=(const CommitTime&) = delete;

  [[nodiscard]] std::int64_t ns() const { return at_ns_; }

 private:
  std::atomic<std::int64_t> at_ns_ = 0;
};

// The peer's first word after `since`; earlier ones are about something else.
std::int64_t word_since(Peer& peer, std::int64_t since) {
  for (;;) {
    const auto at_ns = peer.read(kPatience);
    if (!at_ns) throw std::runtime_error("the other process says nothing");
    if (*at_ns >= since) return *at_ns;
  }
}

// From the commit in this process to the moment at which a waiting call of the other one returns.
std::vector<Figure> wake_other_process(const std::filesystem::path& folder, const Scale& scale) {
  const CommitTime commit;
  const std::string path = fresh_store_path(folder);
  const auto store = open_store(path, Sync::kFull);
  Engine engine(*store, system_rng());
  Peer listener("listen", path);
  word_since(listener, 0);
  std::vector<double> samples;
  for (int i = 0; i < scale.latencies; ++i) {
    let_them_wait();
    must(engine.enqueue_one(sample_task(i)));
    samples.push_back(static_cast<double>(word_since(listener, commit.ns()) - commit.ns()) / kNsPerMs);
  }
  return {{"wake-up of a second process", "FULL", latency_of(samples, kWakeBarMs)}};
}

// From the enqueue's answer to the handler's first instruction, in a worker of another process.
std::vector<Figure> pick_up_elsewhere(const std::filesystem::path& folder, const Scale& scale) {
  const std::string path = fresh_store_path(folder);
  const auto store = open_store(path, Sync::kFull);
  Engine engine(*store, system_rng());
  Peer server("serve", path);
  std::vector<double> samples;
  for (int i = 0; i < scale.latencies; ++i) {
    const std::int64_t asked = now_ns();
    must(engine.enqueue_one(sample_task(i)));
    const std::int64_t answered = now_ns();
    const std::int64_t started = word_since(server, asked);
    if (i > 0) samples.push_back(static_cast<double>(std::max<std::int64_t>(started - answered, 0)) / kNsPerMs);
    let_them_wait();
  }
  return {{"pick-up by another process", "FULL", latency_of(samples, std::nullopt)}};
}

// A time that one thread sets and another waits for.
class Mark {
 public:
  void set(std::int64_t at_ns) {
    const std::scoped_lock lock(mutex_);
    at_ns_ = at_ns;
    changed_.notify_one();
  }
  std::int64_t take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return at_ns_ != 0; })) {
      throw std::runtime_error("the handler was not called");
    }
    return std::exchange(at_ns_, 0);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t at_ns_ = 0;
};

// The same with the worker in this process.
std::vector<Figure> pick_up_here(const std::filesystem::path& folder, const Scale& scale) {
  const auto store = open_store(fresh_store_path(folder), Sync::kFull);
  Engine engine(*store, system_rng());
  Mark started;
  Worker worker(engine, {});
  worker.handle(std::string(kQueue), [&](TaskContext&) -> HandlerResult {
    started.set(now_ns());
    return "1";
  });
  std::jthread thread([&] { must(worker.run()); });
  std::vector<double> samples;
  for (int i = 0; i < scale.latencies; ++i) {
    must(engine.enqueue_one(sample_task(i)));
    const std::int64_t answered = now_ns();
    const std::int64_t began = started.take();
    if (i > 0) samples.push_back(static_cast<double>(std::max<std::int64_t>(began - answered, 0)) / kNsPerMs);
    let_them_wait();
  }
  worker.stop();
  return {{"pick-up in this process", "FULL", latency_of(samples, std::nullopt)}};
}

void tell(std::int64_t at_ns) {
  if (::write(STDOUT_FILENO, &at_ns, sizeof at_ns) != sizeof at_ns) throw std::runtime_error("nobody listens");
}

}  // namespace

std::vector<Case> latency_cases() {
  return {{"wake-up of a second process", wake_other_process},
          {"pick-up in this process", pick_up_here},
          {"pick-up by another process", pick_up_elsewhere}};
}

int listener_main(const std::string& store_path) {
  const auto store = open_store(store_path, Sync::kFull);
  std::uint64_t seen = store->changes();
  tell(now_ns());
  for (;;) {
    store->wait_for_change(seen, kPatience);
    const std::int64_t at_ns = now_ns();
    if (store->changes() == seen) continue;
    seen = store->changes();
    tell(at_ns);
  }
}

int server_main(const std::string& store_path) {
  const auto store = open_store(store_path, Sync::kFull);
  Engine engine(*store, system_rng());
  Worker worker(engine, {});
  worker.handle(std::string(kQueue), [](TaskContext&) -> HandlerResult {
    tell(now_ns());
    return "1";
  });
  must(worker.run());
  return 0;
}

}  // namespace drover::bench
