// ClaimLoop: settles what ended, claims into free slots, and knows when the worker is done.
//
// One thread, no clock and no waiting of its own: whoever drives it calls step(now) when the returned time has passed
// or something happened (a run ended, the queue changed, a signal came). The order of a task's life here: claim,
// Runs::start, LeaseKeeper::hold, take_ended, settle, LeaseKeeper::let_go.
//
// A slot is free as soon as its run has ended: the end may be on its way to the queue while the next task is claimed.
//
// Settlements and claims may be made on other threads. Then a claim asks for at most half of the slots, so that the
// queue hands out some tasks while others run: what one waits for, the other does.
//
// A claim names only types that can be run and have a slot free, and asks for no more tasks than the fullest of them
// has room for: which of them the queue hands out first stays its own affair. More room means another claim.
//
// While it waits for work, its claim stands with the queue for all the slots that are free. It is withdrawn before the
// next claim, so that no slot is asked for twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drover/task_queue.h"
#include "worker/lease_keeper.h"
#include "worker/runs.h"

namespace drover {

// Makes a call that may take long on another thread, one after the other.
using MakeCall = std::function<void(std::function<void()> call)>;

enum class WhenEmpty : std::uint8_t { kWait, kFinish };

struct ClaimLoopOptions {
  std::string worker_id;
  std::vector<Serve> serves;
  int capacity = 1;
  int prefetch = 0;  // how many more the runs may hold, which wait there
  // How many of a type may run at once; a type that is not here has no limit of its own.
  std::map<std::string, int, std::less<>> type_limits = {};
  Millis lease{30'000};
  Millis drain{30'000};    // how long running work may go on after drain()
  Millis poll_max{5'000};  // a net under TaskQueue::changes(): claims at least this often
  WhenEmpty when_empty = WhenEmpty::kWait;
  std::function<void()> wake = [] {};  // a call or a standing claim was answered: step, please; from any thread
  // None: it is made at once.
  MakeCall make_settlement = {};
  MakeCall make_claim = {};
};

struct ClaimLoopCounts {
  std::int64_t claimed = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;  // runs that ended as a failure, whatever follows
  std::int64_t released = 0;
  std::int64_t cancelled = 0;
  std::int64_t suspended = 0;
  std::int64_t refused = 0;  // stale leases and the like: the end was not taken
};

class ClaimLoop {
 public:
  ClaimLoop(TaskQueue& queue, Runs& runs, LeaseKeeper& keeper, ClaimLoopOptions options);

  // Does one thing that is due: settles what ended, else claims, else leaves its claim standing. `now` was read just
  // before the call: leases are counted from it. Returns how long the caller may wait before the next step; zero when
  // there is more to do.
  Millis step(MonoTime now);

  // Claims no more. Running work may finish within the drain time; then it is stopped and released. Called again, it is
  // stopped now; once more, it is killed, and ends that the queue has not taken are given up. An order of the store to
  // drain sets no limit, until drain is called.
  void drain(MonoTime now);

  // Nothing held, and nothing more to come.
  [[nodiscard]] bool finished() const;
  // Whether it drains by order of the store.
  [[nodiscard]] bool was_ordered() const { return was_ordered_; }
  // Why the loop drains on its own: the queue refused a claim for a reason that waiting does not mend.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  // Leases that run, or whose ends are not settled.
  [[nodiscard]] int held() const;
  [[nodiscard]] const ClaimLoopCounts& counts() const { return counts_; }
  // Whether new work would be claimed at once.
  [[nodiscard]] bool wants_work(MonoTime now) const;
  // Whether a change of the queue would make it claim now: what the driver listens for.
  [[nodiscard]] bool awaits_change(MonoTime now) const;
  // What it would claim now: where the driver listens for work.
  [[nodiscard]] std::vector<Serve> wanted_serves(MonoTime now) const { return room(now).serves; }
  // The queue's change count before the latest claim that left a slot free: what the driver waits on.
  [[nodiscard]] std::uint64_t seen_changes() const { return seen_changes_; }

 private:
  enum class Phase : std::uint8_t { kWorking, kDraining, kStopping };

  struct Running {
    Lease lease;
    int priority;
    std::string type;
  };

  // What may be claimed: where, and how many tasks.
  struct Room {
    std::vector<Serve> serves;
    int n = 0;
  };

  // Ends that are on their way to the queue.
  struct Sent {
    std::vector<RunEnded> ends;
    std::vector<Result<Settled>> answers;
    std::atomic<bool> is_answered = false;
  };

  // A claim that is on its way.
  struct Asked {
    ClaimRequest request;
    MonoTime at;
    Result<std::vector<ClaimedTask>> answer;
    std::atomic<bool> is_answered = false;
  };

  enum class Answered : std::uint8_t { kDone, kStoreUnavailable, kSendOther };

  void make_call(const MakeCall& elsewhere, std::function<void()> call) const;
  void take_ended();
  [[nodiscard]] bool may_settle(MonoTime now) const { return !settling_ && !ended_.empty() && now >= retry_at_; }
  void settle();
  void take_answers(MonoTime now);
  // Of one that stops: ends that nobody will ever take, because their lease is over.
  void give_up_ends(MonoTime now);
  // kSendOther: the queue will never take this end, and it was replaced by one that says so.
  [[nodiscard]] Answered take_answer(RunEnded& ended, const Result<Settled>& answer);
  void count(const RunEnded& ended);
  // How many tasks may be held at once, running or waiting.
  [[nodiscard]] int slots() const { return options_.capacity + options_.prefetch; }
  [[nodiscard]] int free_slots() const;
  [[nodiscard]] Room room(MonoTime now) const;
  // How many more of that type may run; 0 if it cannot run at all.
  [[nodiscard]] int room_of(const Serve& serve, MonoTime now) const;
  [[nodiscard]] bool may_claim(MonoTime now) const;
  [[nodiscard]] ClaimRequest request(Room room, int n_max) const;
  void look_at_trouble();
  void claim(MonoTime now);
  // What it took is started or, by one that drains, given back.
  void take_claimed(MonoTime now);
  [[nodiscard]] std::vector<Serve> runnable_serves() const;
  // No program that it serves is there: waiting for an empty queue would be for ever.
  void give_up_if_hopeless(MonoTime now);
  // Everything that waits was given back because it names what is not here.
  [[nodiscard]] bool is_all_for_others(MonoTime now);
  [[nodiscard]] bool may_leave_claim(MonoTime now) const;
  void leave_claim(MonoTime now);
  // What it took is started or, by one that drains, given back.
  void withdraw_claim(MonoTime now);
  void take_refusal(const Error& error, MonoTime now);
  // Or gives back, if so little of the lease is left that it must not begin.
  void start(std::vector<ClaimedTask> claimed, MonoTime expires_at, MonoTime now);
  void give_back(std::span<const ClaimedTask> claimed, MonoTime expires_at);
  void finish_if_empty(MonoTime now);
  void obey_order();
  void stop_all();
  void back_off(MonoTime now);
  [[nodiscard]] Millis until_next(MonoTime now) const;

  TaskQueue& queue_;
  Runs& runs_;
  LeaseKeeper& keeper_;
  const ClaimLoopOptions options_;

  Phase phase_ = Phase::kWorking;
  std::vector<Running> running_;         // oldest first
  std::vector<RunEnded> ended_;          // to be settled, in order
  std::shared_ptr<Sent> settling_;       // shared with the call that is under way
  std::shared_ptr<Asked> claiming_;      // the same
  std::optional<MonoTime> drain_until_;  // none: what runs may finish, however long that takes
  MonoTime next_claim_{};                // when to claim although nothing changed
  MonoTime retry_at_{};                  // the store was unavailable: not before
  Millis backoff_{0};
  std::uint64_t seen_changes_ = 0;
  bool was_ordered_ = false;
  bool gives_up_ = false;        // told to go whatever becomes of the ends
  bool left_slot_free_ = false;  // the latest claim found less than there was room for
  std::vector<Serve> asked_;     // where it looked
  std::vector<Unable> unable_;
  bool unable_is_new_ = false;
  std::unique_ptr<StandingClaim<ClaimedTask>> standing_;
  int standing_n_ = 0;
  bool may_stand_ = true;  // unless the queue has no standing claims
  std::optional<Error> failure_;
  ClaimLoopCounts counts_;
};

}  // namespace drover
