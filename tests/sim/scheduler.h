// The event heap: actors that take steps in virtual time, one after the other, in an order drawn from the seed.
//
// An actor is a thread of a simulated process, or a person, or an agent. A step runs to its end, but may let others
// have their turns in between (run_others), as threads and processes do; an actor in the middle of its step is not
// stepped again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "sim/sim_clock.h"

namespace drover::sim {

inline constexpr Millis kNever = Millis::max();

// What the threads of one process share.
struct ProcessState {
  bool dead = false;
  Millis frozen_until{0};
  bool inside_step = false;  // frozen in the middle of a step: none of its threads may move, whatever the clock says
};

class Actor {
 public:
  Actor(std::function<void()> step, std::shared_ptr<ProcessState> state)
      : step_(std::move(step)), state_(std::move(state)) {}

 private:
  friend class Scheduler;

  std::function<void()> step_;
  std::shared_ptr<ProcessState> state_;  // null: of no process
  Millis due_ = kNever;
  std::uint64_t number_ = 0;
  std::uint64_t version_ = 0;  // of the entry in the heap that counts
  bool busy_ = false;
  bool gone_ = false;
  Millis due_after_step_ = kNever;
};
using ActorPtr = std::shared_ptr<Actor>;

class Scheduler {
 public:
  static constexpr int kDepthMax = 4;

  Scheduler(SimClock& clock, std::uint64_t seed) : clock_(clock), seed_(seed) {}

  // Without a state it belongs to no process and cannot be frozen or killed.
  [[nodiscard]] ActorPtr add(std::function<void()> step, std::shared_ptr<ProcessState> state = nullptr);
  // At that time, or when it was going to be stepped anyway if that is sooner.
  void wake(const ActorPtr& actor, Millis at);
  void wake_soon(const ActorPtr& actor) { wake(actor, clock_.now()); }
  void remove(const ActorPtr& actor) { actor->gone_ = true; }

  // After every step of any actor. False: stop.
  void set_after_step(std::function<bool()> after_step) { after_step_ = std::move(after_step); }
  // False if it was stopped.
  bool run_until(Millis until);
  // From inside a step: everybody else goes on for that long. Does nothing when steps are nested too deep.
  void run_others(Millis how_long);
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    Millis at;
    std::uint64_t tie;
    std::uint64_t version;
    ActorPtr actor;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.at != b.at ? a.at > b.at : a.tie > b.tie; }
  };

  void step(const ActorPtr& actor);
  [[nodiscard]] std::uint64_t tie_break(const Actor& actor, Millis at) const;

  SimClock& clock_;
  const std::uint64_t seed_;
  std::uint64_t actors_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, Later> heap_;
  std::function<bool()> after_step_;
  bool stopped_ = false;
  int depth_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace drover::sim
