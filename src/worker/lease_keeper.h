// LeaseKeeper: registers the worker, renews everything that it holds in one call per heartbeat, and stops what it can
// no longer vouch for.
//
// Deadlines are counted from before a call is sent, so that they are never later than the store's own. When renewals
// fail and a third of a lease is left, its run is stopped: the store may give the task to another worker once it ran
// out. No thread and no clock of its own: step(now) does what is due. Safe to call from any thread; only one may step.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drover/task_queue.h"
#include "worker/runs.h"

namespace drover {

struct LeaseKeeperOptions {
  WorkerInfo worker;
  Millis lease{30'000};
  Millis heartbeat{5'000};
};

// kInvalidArgument unless it is a lease that queues give, and outlives at least two heartbeats.
[[nodiscard]] Status check_heartbeat(Millis lease, Millis heartbeat);

class LeaseKeeper {
 public:
  LeaseKeeper(TaskQueue& queue, Runs& runs, LeaseKeeperOptions options);

  // True after the first beat; nothing is claimed before it.
  [[nodiscard]] bool registered() const;
  // The first beat, now, for whoever wants to know whether the store takes this worker. Otherwise step does it.
  [[nodiscard]] Status register_now(MonoTime now);

  // A lease from its claim to its settlement.
  void hold(const Lease& lease, MonoTime expires_at);
  void let_go(const Lease& lease);
  // Whether it ran out, as far as is known here.
  [[nodiscard]] bool is_over(const Lease& lease, MonoTime now) const;

  // Whether the store told this worker to take no more work.
  [[nodiscard]] bool drain_ordered() const;
  // Tells the store with the next beat that this worker takes no more work.
  void announce_draining();
  // The same of what it serves, and of what it cannot run.
  void announce_serves(std::vector<Serve> serves);
  // The queue does not know this worker: the next beat, which is due, registers it.
  void register_again();
  // The last word to the store; not while a step is under way. Afterwards step does nothing.
  [[nodiscard]] Status unregister(const std::string& reason);

  // Heartbeats are seconds apart, and a cancel should not wait for one: reads what happened since the last look and, if
  // it concerns something that is held, makes the next step beat. Returns how long until the next look is worth it.
  Millis look_for_requests(MonoTime now);

  // Fences what ran short, then beats if it is time. `now` was read just before the call. Returns how long the caller
  // may wait before the next step; zero after a beat, since that may have taken long.
  Millis step(MonoTime now);

 private:
  enum class Fence : std::uint8_t { kOpen, kStopping };  // kStopping: its run was told to stop, which is said once
  struct Held {
    Lease lease;
    MonoTime expires_at;
    Fence fence = Fence::kOpen;
  };

  void fence(MonoTime now);
  void beat(MonoTime now);
  [[nodiscard]] Status send_registration_if_due(MonoTime now);
  [[nodiscard]] Status send_renewal(MonoTime now);
  void take_answer(const Lease& lease, LeaseState state, MonoTime expires_at);
  [[nodiscard]] bool concerns_us(const Event& event) const;
  [[nodiscard]] Held* find(const Lease& lease);
  [[nodiscard]] std::vector<Lease> leases() const;
  [[nodiscard]] Millis until_next(MonoTime now) const;
  [[nodiscard]] MonoTime fence_at(const Held& held) const;

  TaskQueue& queue_;
  Runs& runs_;
  const LeaseKeeperOptions options_;

  mutable std::mutex mutex_;
  std::vector<Serve> serves_;
  std::vector<Held> held_;  // what runs, and what ended and is not settled
  MonoTime next_beat_{};
  MonoTime last_good_beat_{};
  MonoTime registered_at_{};
  MonoTime next_look_{};
  bool registered_ = false;
  bool must_register_ = true;
  bool draining_ = false;
  bool drain_ordered_ = false;
  bool gone_ = false;

  // Of the stepping thread only.
  std::uint64_t seen_changes_ = 0;
  std::int64_t seen_event_ = 0;  // the latest that was looked at; from 0, the first look skips what is old
};

}  // namespace drover
