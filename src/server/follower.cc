#include "server/follower.h"

#include <utility>

#include "base/log.h"
#include "net/wake.h"

namespace drover::server {
namespace {

constexpr int kPageEvents = 500;
// How long the thread may be unaware that it is to end.
constexpr Millis kLookAgain{250};

}  // namespace

Follower::Follower(TaskQueue& queue, std::function<void(Pulse)> publish)
    : queue_(queue), publish_(std::move(publish)), thread_([this](const std::stop_token& stop) {
        block_signals_in_this_thread();
        follow(stop);
      }) {}

Follower::~Follower() = default;

void Follower::follow(const std::stop_token& stop) {
  bool failing = true;
  while (!stop.stop_requested()) {
    const std::uint64_t seen = queue_.changes();
    // Whoever was away may have lost what it had acknowledged.
    const bool answered = (!failing || start_afresh()) && catch_up();
    if (!answered && !failing) log_warn("server", "cannot read events; will go on trying");
    failing = !answered;
    queue_.wait_for_change(seen, kLookAgain);
    // A pulse for what is no event, too; catch_up announces those that are.
    if (queue_.changes() != seen) announce({});
  }
}

bool Follower::start_afresh() {
  const auto last = queue_.last_event_seq();
  if (!last) return false;
  if (after_ >= 0 && *last >= after_) return true;
  after_ = *last;
  announce({}, true);
  return true;
}

bool Follower::catch_up() {
  for (;;) {
    auto events = queue_.events(after_, kPageEvents);
    if (!events) return false;
    if (events->empty()) return true;
    if (events->front().seq > after_ + 1) {
      after_ = events->front().seq - 1;
      announce({}, true);
    }
    after_ = events->back().seq;
    const bool is_last_page = std::cmp_less(events->size(), kPageEvents);
    announce(*std::move(events));
    if (is_last_page) return true;
  }
}

void Follower::announce(std::vector<Event> events, bool missed_some) {
  const std::uint64_t number = number_.fetch_add(1, std::memory_order_acq_rel) + 1;
  publish_({.number = number,
            .events = std::make_shared<const std::vector<Event>>(std::move(events)),
            .seq = after_,
            .missed_some = missed_some});
}

}  // namespace drover::server
