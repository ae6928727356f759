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
    const bool answered = begin() && catch_up();
    if (!answered && !failing) log_warn("server", "cannot read events; will go on trying");
    failing = !answered;
    queue_.wait_for_change(seen, kLookAgain);
    // A pulse for what is no event, too; catch_up announces those that are.
    if (queue_.changes() != seen) announce({.events = {}, .seq = cursor_ ? cursor_->after() : 0});
  }
}

bool Follower::begin() {
  if (cursor_) return true;
  const auto last = queue_.last_event_seq();
  if (!last) return false;
  cursor_.emplace(*last);
  announce_gap(*last);
  return true;
}

bool Follower::catch_up() {
  if (!cursor_) return false;
  EventCursor& cursor = *cursor_;
  for (;;) {
    std::int64_t after = cursor.after();
    auto news = cursor.next(queue_, kPageEvents);
    if (!news) return false;
    if (const auto& gap = news->went_back) {
      log_warn("server", "the store went backwards; clients that follow its events are told",
               {{"events_read", std::to_string(gap->after)}, {"events_kept", std::to_string(gap->seq)}});
      after = gap->seq;
      announce_gap(after);
    }
    if (news->events.empty()) return true;
    if (news->events.front().seq > after + 1) announce_gap(news->events.front().seq - 1);
    announce({.events = std::make_shared<const std::vector<Event>>(std::move(news->events)), .seq = cursor.after()});
    if (!news->has_more) return true;
  }
}

void Follower::announce(Pulse pulse) {
  if (pulse.events == nullptr) pulse.events = std::make_shared<const std::vector<Event>>();
  pulse.number = number_.fetch_add(1, std::memory_order_acq_rel) + 1;
  publish_(std::move(pulse));
}

}  // namespace drover::server
