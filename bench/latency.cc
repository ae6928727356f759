// How soon somebody who waits learns that there is work.
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bench_store.h"
#include "cases.h"
#include "drover/worker.h"
#include "engine/open.h"
#include "pick_up.h"
#include "twin.h"

namespace drover::bench {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::string_view kWakeUp = "wake-up of a second process";
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

Figure figure_of(std::string_view name, Backend backend, const std::vector<double>& samples) {
  const Latency latency{.p50_ms = percentile(samples, 0.5), .p99_ms = percentile(samples, 0.99)};
  return {std::string(name), name_of(backend), std::string(kDrover), latency};
}

// The twin's first word after `since`; earlier ones are about something else.
std::int64_t word_since(Twin& twin, std::int64_t since) {
  for (;;) {
    const auto at_ns = twin.read(kPatience);
    if (!at_ns) throw std::runtime_error("the other process says nothing");
    if (*at_ns >= since) return *at_ns;
  }
}

// From the call of enqueue in this process to the moment at which a waiting call of the other one returns: the commit
// is part of it.
std::vector<Figure> wake_other_process(Ground& ground, Backend backend, int count) {
  const std::string address = fresh_address(ground, backend);
  const auto store = open_store(address);
  Engine engine(*store, system_rng());
  Twin listener("listen", address);
  word_since(listener, 0);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    let_them_wait();
    const std::int64_t asked = now_ns();
    must(engine.enqueue_one(sample_task(0)));
    samples.push_back(static_cast<double>(word_since(listener, asked) - asked) / kNsPerMs);
  }
  return {figure_of(kWakeUp, backend, samples)};
}

// From the enqueue's answer to the handler's first instruction, which may come before it.
double pick_up_ms(std::int64_t answered, std::int64_t started) {
  return static_cast<double>(std::max<std::int64_t>(started - answered, 0)) / kNsPerMs;
}

std::vector<Figure> pick_up_elsewhere(Ground& ground, Backend backend, int count) {
  const std::string address = fresh_address(ground, backend);
  const auto store = open_store(address);
  Engine engine(*store, system_rng());
  return {pick_up_by_twin(kPickUpElsewhere, backend, address, engine, count)};
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
std::vector<Figure> pick_up_here(Ground& ground, Backend backend, int count) {
  Bench bench(ground, backend);
  Mark started;
  Worker worker(bench.engine, {});
  worker.handle(std::string(kQueue), [&](TaskContext&) -> HandlerResult {
    started.set(now_ns());
    return "1";
  });
  std::jthread thread([&] { must(worker.run()); });
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    must(bench.engine.enqueue_one(sample_task(0)));
    const std::int64_t answered = now_ns();
    const std::int64_t began = started.take();
    if (i > 0) samples.push_back(pick_up_ms(answered, began));
    let_them_wait();
  }
  worker.stop();
  return {figure_of(kPickUpHere, backend, samples)};
}

void tell(std::int64_t at_ns) {
  if (::write(STDOUT_FILENO, &at_ns, sizeof at_ns) != sizeof at_ns) throw std::runtime_error("nobody listens");
}

}  // namespace

Figure pick_up_by_twin(std::string_view name, Backend backend, const std::string& address, TaskQueue& producer,
                       int count) {
  Twin server("serve", address);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    const std::int64_t asked = now_ns();
    must(producer.enqueue_one(sample_task(0)));
    const std::int64_t answered = now_ns();
    const std::int64_t started = word_since(server, asked);
    if (i > 0) samples.push_back(pick_up_ms(answered, started));
    let_them_wait();
  }
  return figure_of(name, backend, samples);
}

std::vector<Case> latency_cases() {
  using Measure = std::vector<Figure> (*)(Ground&, Backend, int);
  const std::pair<std::string_view, Measure> measures[] = {
      {kWakeUp, wake_other_process}, {kPickUpHere, pick_up_here}, {kPickUpElsewhere, pick_up_elsewhere}};
  std::vector<Case> cases;
  for (const Backend backend : {Backend::kSqliteFull, Backend::kRedis}) {
    for (const auto& [name, measure] : measures) {
      cases.push_back({fmt::format("{}, {}", name, name_of(backend)),
                       [=](Ground& ground, const Scale& scale) { return measure(ground, backend, scale.latencies); }});
    }
  }
  return cases;
}

int listener_main(const std::string& store_address) {
  const auto store = open_store(store_address);
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

int server_main(const std::string& store_address) {
  const bool is_server = store_address.starts_with("http://");
  const auto remote = is_server ? must(open_queue(store_address, ::getenv("DROVER_TOKEN"))) : nullptr;
  const auto store = is_server ? nullptr : open_store(store_address);
  std::optional<Engine> engine;
  if (store != nullptr) engine.emplace(*store, system_rng());
  Worker worker(is_server ? remote->queue() : *engine, {});
  worker.handle(std::string(kQueue), [](TaskContext&) -> HandlerResult {
    tell(now_ns());
    return "1";
  });
  must(worker.run());
  return 0;
}

}  // namespace drover::bench
