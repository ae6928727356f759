// One write transaction as the operations inside it see it: its time, its numbers, its counts and its events.
//
// Numbers and counts are kept in memory and written once, before the commit; an operation that fails puts them back.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/failpoint.h"
#include "core/step.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/event_page.h"
#include "store/sqlite/gate_rows.h"
#include "store/sqlite/meter.h"

namespace drover::sqlite {

// By how much the number of tasks in each state, and what the finished ones hold, has changed: of all, of each owner,
// of each queue, and of each type in a queue.
class CountChanges {
 public:
  struct Change {
    std::int64_t tasks = 0;
    std::int64_t bytes = 0;

    Change& operator+=(const Change& other) {
      tasks += other.tasks;
      bytes += other.bytes;
      return *this;
    }
    bool operator==(const Change&) const = default;
  };
  using States = std::array<Change, kTaskStateCount>;

  // What tasks of one kind have in common.
  struct Kind {
    std::string queue;
    std::string type;
    std::string owner;

    auto operator<=>(const Kind&) const = default;
  };

  // Of a task's queue, type and owner; its state is given.
  void add(const Task& task, TaskState state, Change change) {
    of_kind(task)[static_cast<std::size_t>(state)] += change;
  }
  // What is added to these is added to the counts. Good until they are cleared.
  [[nodiscard]] States& of_kind(const Task& task);
  void add(const CountChanges& other);
  void clear();
  // Of all kinds that `is_meant`.
  [[nodiscard]] Change sum(std::span<const TaskState> states, const std::function<bool(const Kind&)>& is_meant) const;
  void write(Connection& db) const;

 private:
  using Kinds = std::map<Kind, States>;
  [[nodiscard]] static std::array<std::string, 5> scopes_of(const Kind& kind);

  Kinds kinds_;
  Kinds::value_type* last_ = nullptr;  // many in a row are alike
};

// A lane as far as tasks at its tail need it.
struct KnownLane {
  std::int64_t id = 0;
  std::int64_t head = 0;
};

// By how much the number of tasks that wait in each lane has changed.
class LaneCounts {
 public:
  void add(std::int64_t lane, std::int64_t tasks) { part_[lane] += tasks; }
  // The lane is gone. Another one may get its id.
  void forget(std::int64_t lane);
  void keep_part();
  void undo_part();
  void write(Connection& db);

 private:
  using Counts = std::unordered_map<std::int64_t, std::int64_t>;
  Counts kept_;       // by earlier parts
  Counts part_;       // by this one
  Counts forgotten_;  // of kept_, by this part
};

// The steps of an operation at which a test may let the process die.
struct OperationFailpoints {
  Failpoint begin;
  Failpoint before_commit;
  Failpoint after_commit;
};

class Transaction {
 public:
  // What is not committed is rolled back at the end.
  Transaction(Connection& db, Clock& clock, Meter& meter);

  void commit();
  // Whether there is anything to commit.
  [[nodiscard]] bool wrote() const;

  // An operation's part of the transaction: undone by itself if it fails.
  void begin_part();
  void keep_part();
  void undo_part();
  // For planted bugs only: commits what the part has written so far, and goes on in a transaction of its own.
  void commit_apart(const OperationFailpoints& failpoints);

  [[nodiscard]] Connection& db() { return db_; }
  // When the part began.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] MonoTime mono() const { return mono_; }

  [[nodiscard]] std::int64_t next_task_seq() { return ++last_.task; }
  [[nodiscard]] std::int64_t next_place() { return ++last_.place; }
  [[nodiscard]] std::int64_t next_turn() { return ++last_.turn; }
  [[nodiscard]] std::int64_t next_gate_revision() { return ++last_.gate; }
  void add_event(const Task& task, std::string_view name, const JsonText& data);
  // The events of a part are written at its end, unless something looks at them before.
  void write_events();
  [[nodiscard]] std::int64_t last_event_seq() const { return last_.event; }
  [[nodiscard]] std::int64_t epoch_number() const { return epoch_; }
  void note_epoch(std::int64_t number) { epoch_ = number; }  // that has begun in this transaction
  void count(const Task& task, TaskState state, CountChanges::Change change) { part_counts_.add(task, state, change); }
  // For many tasks of one kind; good until the part ends.
  [[nodiscard]] CountChanges::States& counts_of(const Task& task) { return part_counts_.of_kind(task); }
  // With what this transaction has changed so far.
  [[nodiscard]] std::int64_t waiting();
  [[nodiscard]] std::int64_t waiting_of_owner(const std::string& owner);
  [[nodiscard]] std::int64_t waiting_in_queue(const std::string& queue);
  [[nodiscard]] CountChanges::Change finished();

  [[nodiscard]] GateRows& gates() { return gates_; }
  // Lanes by name, as far as this transaction has met them; cleared by whoever moves a head or deletes one.
  [[nodiscard]] std::unordered_map<std::string, KnownLane>& lanes() { return lanes_; }
  [[nodiscard]] LaneCounts& lane_counts() { return lane_counts_; }
  [[nodiscard]] Meter& meter() { return meter_; }

  // For repairs, which look at the tables themselves. The part must be alone in its transaction.
  void write_counts();
  void raise_sequences();

 private:
  // The last number given out of each kind.
  struct Sequences {
    std::int64_t task = 0;
    std::int64_t event = 0;
    std::int64_t place = 0;
    std::int64_t turn = 0;  // of a line
    std::int64_t gate = 0;  // revision

    bool operator==(const Sequences&) const = default;
  };
  void begin();
  // What the table says of a scope, and how the kinds that belong to it have changed since. Its bytes are those of
  // finished tasks, whatever the states.
  [[nodiscard]] CountChanges::Change counted(const std::string& scope, std::span<const TaskState> states,
                                             const std::function<bool(const CountChanges::Kind&)>& is_in);
  using StoredCounts = std::array<std::int64_t, kTaskStateCount + 1>;
  [[nodiscard]] const StoredCounts& stored_counts(const std::string& scope);

  Connection& db_;
  Clock& clock_;
  Meter& meter_;
  const RollbackGuard rollback_;
  Time now_{};
  MonoTime mono_{};
  int changes_at_begin_ = 0;
  std::int64_t epoch_ = 0;
  int kept_parts_ = 0;
  Sequences stored_;
  Sequences last_;
  Sequences before_part_;
  CountChanges counts_;
  CountChanges part_counts_;
  std::map<std::string, StoredCounts, std::less<>> stored_counts_;  // by scope, as far as they were asked for
  EventPage part_events_;
  GateRows gates_;
  std::unordered_map<std::string, KnownLane> lanes_;
  LaneCounts lane_counts_;
};

}  // namespace drover::sqlite
