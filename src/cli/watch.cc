#include "cli/watch.h"

#include <atomic>
#include <csignal>

#include "base/check.h"
#include "base/clock.h"
#include "base/try.h"
#include "cli/context.h"

namespace drover::cli {
namespace {

// How late an interrupt may be noticed when the wait itself does not wake for it.
constexpr Millis kWaitSlice{200};

std::atomic<int> interrupt_count = 0;
std::atomic<const std::vector<StopSignal*>*> workers_to_stop = nullptr;
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

std::atomic<bool> hung_up = false;
std::atomic<const Waker*> hangup_waker = nullptr;

struct sigaction previous_int;
struct sigaction previous_term;
struct sigaction previous_hup;

void on_interrupt(int /*signal*/) {
  ++interrupt_count;
  const std::vector<StopSignal*>* workers = workers_to_stop;
  if (workers == nullptr) return;
  for (StopSignal* worker : *workers) worker->request();
}

void on_hangup(int /*signal*/) {
  hung_up = true;
  if (const Waker* waker = hangup_waker) waker->wake();
}

// The last look: nobody may say that nothing has happened where nobody could see it.
Result<WatchEnd> at_timeout(const std::function<Result<Seen>()>& look) {
  const auto seen = TRY(look());
  return seen == Seen::kDone ? WatchEnd::kDone : WatchEnd::kTimedOut;
}

}  // namespace

Interrupts::Interrupts(std::vector<StopSignal*> workers) : workers_(std::move(workers)) {
  interrupt_count = 0;
  workers_to_stop = &workers_;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  CHECK(::sigaction(SIGINT, &action, &previous_int) == 0);
  CHECK(::sigaction(SIGTERM, &action, &previous_term) == 0);
}

Interrupts::~Interrupts() {
  ::sigaction(SIGINT, &previous_int, nullptr);
  ::sigaction(SIGTERM, &previous_term, nullptr);
  workers_to_stop = nullptr;
}

int Interrupts::count() {
  return interrupt_count;
}

Hangups::Hangups() {
  hung_up = false;
  hangup_waker = &waker_;
  struct sigaction action{};
  action.sa_handler = on_hangup;
  CHECK(::sigaction(SIGHUP, &action, &previous_hup) == 0);
}

Hangups::~Hangups() {
  ::sigaction(SIGHUP, &previous_hup, nullptr);
  hangup_waker = nullptr;
}

bool Hangups::take() {
  return hung_up.exchange(false);
}

Result<WatchEnd> watch(TaskQueue& queue, std::optional<Millis> timeout, const std::function<Result<Seen>()>& look,
                       const std::function<bool()>& ended) {
  const MonoTime started = system_clock().mono();
  while (true) {
    const std::uint64_t changes = queue.changes();
    const auto seen = TRY(look());
    if (seen == Seen::kDone) return WatchEnd::kDone;
    do {
      if (Interrupts::count() > 0) return WatchEnd::kInterrupted;
      if (ended()) return WatchEnd::kDone;
      const Millis passed = system_clock().mono() - started;
      if (timeout && passed >= *timeout) return at_timeout(look);
      queue.wait_for_change(changes, timeout ? std::min(kWaitSlice, *timeout - passed) : kWaitSlice);
    } while (queue.changes() == changes);
  }
}

}  // namespace drover::cli
