// Group commit: the write operations of concurrent callers run in one transaction under the lock, each answered by
// itself.
//
// Whoever finds nobody at work leads: takes the lock, runs what is queued (renewals first) for at most kHoldMax,
// commits, and answers. While it commits, the next batch gathers. A caller that is alone simply leads itself.
//
// An operation may also be left standing: whoever leads tries it at the end of each transaction that wrote something,
// so that what follows from a write shares its commit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "store/sqlite/room.h"
#include "store/sqlite/side_files.h"
#include "store/sqlite/transaction.h"

namespace drover::sqlite {

struct Operation {
  enum class Turn : std::uint8_t { kInOrder, kFirst };
  enum class Need : std::uint8_t { kMustRun, kWhenRoom };  // kWhenRoom is refused when the disk is nearly full
  enum class Notice : std::uint8_t { kRing, kSilent };     // whether other processes are woken by its commit
  enum class Company : std::uint8_t { kShared, kAlone };   // kAlone has a transaction of its own

  const OperationFailpoints* failpoints = nullptr;
  // May run more than once, each time from the start, when a transaction has to be repeated.
  std::function<void(Transaction&)> body;
  Turn turn = Turn::kInOrder;
  Need need = Need::kMustRun;
  Notice notice = Notice::kRing;
  Company company = Company::kShared;
};

struct StandingOperation {
  Operation operation;
  // Asked after the body: whether it has its answer with this commit, or goes on standing.
  std::function<bool()> is_done;
  // It has its answer. Called by the one who commits, who waits for it; must not call the writer.
  std::function<void()> on_answer;
};

inline constexpr OperationFailpoints kEnqueueFailpoints{Failpoint::kEnqueueBegin, Failpoint::kEnqueueBeforeCommit,
                                                        Failpoint::kEnqueueAfterCommit};
inline constexpr OperationFailpoints kSettleFailpoints{Failpoint::kSettleBegin, Failpoint::kSettleBeforeCommit,
                                                       Failpoint::kSettleAfterCommit};
inline constexpr OperationFailpoints kClaimFailpoints{Failpoint::kClaimBegin, Failpoint::kClaimBeforeCommit,
                                                      Failpoint::kClaimAfterCommit};
inline constexpr OperationFailpoints kRenewFailpoints{Failpoint::kRenewBegin, Failpoint::kRenewBeforeCommit,
                                                      Failpoint::kRenewAfterCommit};
inline constexpr OperationFailpoints kNoteFailpoints{Failpoint::kNoteBegin, Failpoint::kNoteBeforeCommit,
                                                     Failpoint::kNoteAfterCommit};
inline constexpr OperationFailpoints kExpireFailpoints{Failpoint::kExpireBegin, Failpoint::kExpireBeforeCommit,
                                                       Failpoint::kExpireAfterCommit};
inline constexpr OperationFailpoints kFleetFailpoints{Failpoint::kFleetBegin, Failpoint::kFleetBeforeCommit,
                                                      Failpoint::kFleetAfterCommit};
inline constexpr OperationFailpoints kRepairFailpoints{Failpoint::kRepairBegin, Failpoint::kRepairBeforeCommit,
                                                       Failpoint::kRepairAfterCommit};

// Where a commit left the store.
struct CommitMark {
  std::int64_t epoch_number = 0;
  std::int64_t last_event = 0;
};

struct WriterOptions {
  Clock* clock = nullptr;
  Meter* meter = nullptr;
  // Null in memory.
  SideFiles* side_files = nullptr;
  Room* room = nullptr;
  // Held while writing where reads share the connection, else null.
  std::mutex* shared_connection = nullptr;
  Millis lock_wait{0};
  Millis busy_wait{0};  // of the connection
  std::int64_t checkpoint_wal_bytes = 0;
  std::function<void(const CommitMark&)> on_commit;  // after every commit that wrote something
  std::function<void(const std::string& what)> on_sync_failure;
};

class Writer {
 public:
  class Standing;

  Writer(Connection& db, WriterOptions options);

  // Returns when the operation is committed, or known not to be, or its fate is unknown (a failed commit).
  [[nodiscard]] Status run(const Operation& operation);
  // How many operations wait for a later batch.
  [[nodiscard]] std::size_t waiting();
  // Folds the write-ahead log into the database if it has grown and the lock is free.
  void checkpoint_at_close();

 private:
  struct Pending {
    const Operation& operation;
    const StandingOperation* standing = nullptr;  // set if that is what it is
    bool done = false;                            // of a standing one, in the transaction that is under way
    std::optional<Error> failure = {};            // its own, while the batch is not answered
    std::optional<Status> answer = {};
    bool leads = false;
    std::condition_variable wake = {};
  };
  class Hold;

  [[nodiscard]] std::deque<Pending*>& line_of(const Operation& operation);
  [[nodiscard]] Pending* take_next();
  void answer(Pending& pending, Status status);
  void answer_batch(const Status& status);
  void answer_everyone(const Status& status);
  void pass_lead_on();

  void lead();
  void commit_batch();
  [[nodiscard]] Status check_files() const;
  // One transaction over the batch, which grows while there is time.
  void try_commit();
  void plant_ack_before_commit();
  [[nodiscard]] bool batch_is_full() const;
  void execute(Transaction& transaction, Pending& pending);
  void try_standing(Transaction& transaction);
  void put_back_standing();
  [[nodiscard]] bool repeat_after(const SqliteFailure& failure);
  void sync_failed(const SqliteFailure& failure);
  void after_commit();
  void checkpoint(int mode);

  Connection& db_;
  WriterOptions options_;

  std::mutex mutex_;  // guards what follows
  std::deque<Pending*> first_;
  std::deque<Pending*> in_order_;
  std::deque<Pending*> standing_;  // oldest first; while one is tried it is in the batch instead
  bool led_ = false;

  // The leader's own.
  std::vector<Pending*> batch_;
  Pending* culprit_ = nullptr;  // whose failure ended the transaction of all
  MonoTime hold_began_{};
  bool used_ballast_ = false;
  bool wrote_ = false;
  bool rings_ = false;
  CommitMark commit_mark_;
  std::int64_t wal_pages_ = 0;           // in the log after the last commit
  std::int64_t checkpointed_pages_ = 0;  // in the log when it was last tried to fold it in
  std::optional<Error> broken_;          // set once an fsync has failed
};

// An operation that stands as long as this object lives, until it is answered or withdrawn.
class Writer::Standing {
 public:
  Standing(Writer& writer, StandingOperation operation);
  ~Standing() { static_cast<void>(withdraw()); }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

  [[nodiscard]] bool is_answered();
  // It stands no longer. Its answer as run() would give it, none if it was not done. Waits while it is being committed.
  std::optional<Status> withdraw();

 private:
  Writer& writer_;
  const StandingOperation operation_;
  Pending pending_{operation_.operation, &operation_};
  bool is_withdrawn_ = false;
};

}  // namespace drover::sqlite
