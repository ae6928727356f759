// Sweepers: what time does to tasks. Idempotent; any process may run them, none is needed more than once.
#pragma once

#include <functional>

#include "engine/bulk_sweeper.h"
#include "engine/engine.h"

namespace drover {

// What one run_once() did: counts for logs and tests.
struct SweepReport {
  int promoted = 0;      // scheduled tasks that became pending
  int deadlines = 0;     // tasks whose deadline passed
  int reclaimed = 0;     // leases taken back
  int cascades = 0;      // large cascades that went on
  int questions = 0;     // that expired, or were handed to people
  int expired = 0;       // finished tasks past retention
  int woken = 0;         // lanes let go by gates whose time had come
  int workers_gone = 0;  // registrations of dead workers
  int alerts = 0;        // that were raised
  int bulk = 0;          // tasks that a bulk operation came to
  int folded = 0;        // events that were added to the statistics over time
  bool more = false;     // a bound was reached: run again at once
};

class Sweepers {
 public:
  explicit Sweepers(Engine& engine) : engine_(engine), bulk_(engine) {}

  // One bounded pass of all of them. Retention and dead workers are looked at once a minute and when somebody has set
  // the store's clock, the fleet's health every 15 seconds; statistics are kept every minute.
  [[nodiscard]] Result<SweepReport> run_once();
  // What run_once does beside moving tasks: retention, dead workers, health, each when its time has come.
  [[nodiscard]] Result<SweepReport> keep_watch();
  // How long until the next pass has something to do; at most `at_most`.
  [[nodiscard]] Millis idle_time(Millis at_most);

  // See Store: which process sweeps, and what it waits for.
  [[nodiscard]] Result<SweepTurn> take_turn() { return engine_.store_.take_sweep_turn(); }
  void wait(std::uint64_t seen, Millis timeout, const std::stop_token& stop) {
    engine_.store_.wait_for_sweep(seen, timeout, stop);
  }
  void end() { engine_.store_.end_sweeping(); }

  // Each by itself. They return how many tasks they moved.
  [[nodiscard]] Result<int> promote(int limit);
  [[nodiscard]] Result<int> enforce_deadlines(int limit);
  [[nodiscard]] Result<int> reclaim(std::optional<Millis> silent_for, int limit);
  [[nodiscard]] Result<int> resume_cascades(int limit);
  [[nodiscard]] Result<int> close_questions(int limit);
  [[nodiscard]] Result<int> expire(const StoreClocks& clocks, int limit);
  // Raises and clears alerts. Returns how many were raised.
  [[nodiscard]] Result<int> watch_health();
  // Adds what has happened to the statistics over time. Returns how many events that were.
  [[nodiscard]] Result<std::int64_t> fold_history();

 private:
  // Decides for each record by itself and applies what was decided; a record that moved meanwhile is left to the next
  // pass.
  using Decide = std::function<Status(class Cascade&, const TaskRecord&)>;
  Result<int> sweep(Result<std::vector<TaskRecord>> found, const Decide& decide);
  Status keep_watch(SweepReport& report);
  Status keep_house(const StoreClocks& clocks, SweepReport& report);
  Status watch_health_if_due(Time now, SweepReport& report);
  Status fold_history_if_due(Time now, SweepReport& report);

  Engine& engine_;
  BulkSweeper bulk_;
  std::string sessions_after_;  // where tidying goes on
  std::string trees_after_;     // the same
  std::optional<StoreClocks> last_housekeeping_;
  std::optional<Time> last_health_look_;
  std::optional<Time> last_fold_;
  std::int64_t folded_to_ = -1;
  ConversationName last_conversation_;  // that was looked at for being empty
};

}  // namespace drover
