// Calls that wait for something to happen. None of them has a thread. On the loop's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>

#include "base/clock.h"
#include "server/api.h"
#include "server/follower.h"

namespace drover::server {

class WaitingRoom {
 public:
  using Again = std::function<void(Try)>;

  // `pulse` is the follower's number from before the call looked at the queue: should what it waits for have happened
  // since, it is made again at once.
  void add(Wait wait, std::uint64_t pulse, MonoTime until, Again again);
  void notice(const Pulse& pulse, MonoTime now);
  // Calls whose time is over are made for the last time. Returns when to look again.
  [[nodiscard]] MonoTime tick(MonoTime now);
  // Everybody is called for the last time.
  void empty();
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    Wait wait;
    MonoTime until;
    MonoTime look_at;  // whatever happens
    Again again;
  };

  void call(std::list<Waiting>::iterator waiting, Try attempt);
  void wake_workers(const std::vector<Event>& events, MonoTime now);

  std::list<Waiting> waiting_;  // in the order in which they came
  std::deque<Pulse> recent_;
  MonoTime woke_all_at_{};
  bool owes_wake_ = false;  // somebody may find work, but all were woken a moment ago
};

}  // namespace drover::server
