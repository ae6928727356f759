#include "store/sqlite/writer.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/planted_bug.h"
#include "store/sqlite/failure.h"

namespace drover::sqlite {
namespace {

constexpr Millis kHoldMax{50};
constexpr std::size_t kBatchMax = 1'000;
constexpr std::int64_t kPageBytes = 4096;
// A log that has grown to so many times its usual size is cut when it can be, so that its file does not stay that
// large.
constexpr int kOvergrown = 8;

int count_wal_pages(void* pages, sqlite3* /*db*/, const char* /*name*/, int page_count) {
  *static_cast<std::int64_t*>(pages) = page_count;
  return SQLITE_OK;
}

}  // namespace

// The lock, and in memory the connection, for the time of one batch.
class Writer::Hold {
 public:
  explicit Hold(const WriterOptions& options) : side_files_(options.side_files) {
    if (options.shared_connection != nullptr) connection_ = std::unique_lock(*options.shared_connection);
    if (side_files_ != nullptr) status_ = side_files_->lock(options.lock_wait);
  }
  ~Hold() {
    if (side_files_ != nullptr && status_) side_files_->unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  SideFiles* side_files_;
  std::unique_lock<std::mutex> connection_;
  Status status_;
};

Writer::Writer(Connection& db, WriterOptions options) : db_(db), options_(std::move(options)) {
  sqlite3_wal_hook(db_.handle(), count_wal_pages, &wal_pages_);
}

Status Writer::run(const Operation& operation) {
  Pending self{operation};
  {
    std::unique_lock lock(mutex_);
    line_of(operation).push_back(&self);
    if (led_) self.wake.wait(lock, [&] { return self.answer || self.leads; });
    if (self.answer) return *self.answer;
    led_ = true;
  }
  try {
    while (!self.answer) lead();
  } catch (...) {
    // Only a failpoint of a test throws. Whoever was in the batch does not know its fate.
    answer_batch(fail(ErrorCode::kStoreUnavailable, "the write was interrupted; its fate is unknown", "sqlite.commit"));
    const std::lock_guard lock(mutex_);
    std::erase(line_of(operation), &self);
    pass_lead_on();
    throw;
  }
  const std::lock_guard lock(mutex_);
  pass_lead_on();
  return *self.answer;
}

std::size_t Writer::waiting() {
  const std::lock_guard lock(mutex_);
  return first_.size() + in_order_.size();
}

std::deque<Writer::Pending*>& Writer::line_of(const Operation& operation) {
  return operation.turn == Operation::Turn::kFirst ? first_ : in_order_;
}

Writer::Pending* Writer::take_next() {
  const std::lock_guard lock(mutex_);
  std::deque<Pending*>& line = first_.empty() ? in_order_ : first_;
  if (line.empty()) return nullptr;
  Pending* next = line.front();
  if (next->operation.company == Operation::Company::kAlone && !batch_.empty()) return nullptr;
  line.pop_front();
  return next;
}

void Writer::answer(Pending& pending, Status status) {
  const std::lock_guard lock(mutex_);
  pending.answer = std::move(status);
  // Under the mutex: the waiter may end, and its condition with it, as soon as it is free.
  pending.wake.notify_one();
  if (pending.standing != nullptr) pending.standing->on_answer();
}

void Writer::answer_batch(const Status& status) {
  for (Pending* pending : batch_) {
    answer(*pending, pending->failure ? Status(std::unexpected(*pending->failure)) : status);
  }
  batch_.clear();
}

void Writer::answer_everyone(const Status& status) {
  while (Pending* pending = take_next()) answer(*pending, status);
}

void Writer::pass_lead_on() {
  led_ = !first_.empty() || !in_order_.empty();
  if (!led_) return;
  Pending* next = first_.empty() ? in_order_.front() : first_.front();
  next->leads = true;
  next->wake.notify_one();
}

void Writer::lead() {
  const Hold hold(options_);
  if (!hold.status()) return answer_everyone(hold.status());
  if (broken_) return answer_everyone(std::unexpected(*broken_));
  if (const Status same = check_files(); !same) return answer_everyone(same);
  hold_began_ = options_.clock->mono();
  used_ballast_ = false;
  wrote_ = false;
  rings_ = false;
  commit_batch();
  after_commit();
}

void Writer::commit_batch() {
  for (;;) {
    culprit_ = nullptr;
    try {
      try_commit();
      // What went into a file that nobody else has is not acknowledged.
      const Status same = check_files();
      wrote_ = wrote_ && same;
      return answer_batch(same);
    } catch (const SqliteFailure& failure) {
      if (is_sync_failure(failure)) sync_failed(failure);
      if (!repeat_after(failure)) {
        if (batch_.empty()) return answer_everyone(std::unexpected(to_error(failure, "sqlite.begin")));
        return answer_batch(std::unexpected(to_error(failure, "sqlite.commit")));
      }
    }
  }
}

Status Writer::check_files() const {
  return options_.side_files != nullptr ? options_.side_files->check_files() : Status();
}

// A planted bug: an enqueue is acknowledged although nothing of it is sure to be on disk.
void Writer::plant_ack_before_commit() {
  bool enqueues = false;
  {
    const std::lock_guard lock(mutex_);
    enqueues = !in_order_.empty() && in_order_.front()->operation.failpoints == &kEnqueueFailpoints;
  }
  db_.execute_script(enqueues ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL");
}

void Writer::try_commit() {
  if (planted(PlantedBug::kAckBeforeCommit)) plant_ack_before_commit();
  for (Pending* pending : batch_) pending->done = false;
  put_back_standing();
  Transaction transaction(db_, *options_.clock, *options_.meter);
  for (Pending* pending : batch_) execute(transaction, *pending);
  while (!batch_is_full()) {
    Pending* next = take_next();
    if (next == nullptr) break;
    batch_.push_back(next);
    execute(transaction, *next);
  }
  if (transaction.wrote() && !batch_is_full()) try_standing(transaction);
  for (const Pending* pending : batch_) failpoint(pending->operation.failpoints->before_commit);
  wrote_ = transaction.wrote();
  transaction.commit();
  commit_mark_ = {transaction.epoch_number(), transaction.last_event_seq()};
  for (const Pending* pending : batch_) {
    rings_ = rings_ || (!pending->failure && pending->operation.notice == Operation::Notice::kRing);
    failpoint(pending->operation.failpoints->after_commit);
  }
}

bool Writer::batch_is_full() const {
  if (batch_.empty()) return false;
  return batch_.size() >= kBatchMax || options_.clock->mono() - hold_began_ >= kHoldMax ||
         batch_.back()->operation.company == Operation::Company::kAlone;
}

void Writer::execute(Transaction& transaction, Pending& pending) {
  if (pending.failure) return;
  const Operation& operation = pending.operation;
  const bool needs_room = operation.need == Operation::Need::kWhenRoom;
  if (needs_room && options_.room != nullptr && !options_.room->admits_new_tasks()) {
    pending.failure = Error{ErrorCode::kDiskFull, "the disk is nearly full: new tasks are refused", "sqlite.enqueue"};
    return;
  }
  failpoint(operation.failpoints->begin);
  transaction.begin_part();
  try {
    operation.body(transaction);
    transaction.keep_part();
  } catch (const SqliteFailure& failure) {
    if (!db_.in_transaction() || (is_disk_full(failure) && !needs_room)) {
      culprit_ = &pending;
      throw;
    }
    pending.failure = to_error(failure, "sqlite.write");
    transaction.undo_part();
  }
}

// All are in the batch while they are tried, so that whatever ends the transaction is answered to them, too.
void Writer::try_standing(Transaction& transaction) {
  const std::size_t others = batch_.size();
  {
    const std::lock_guard lock(mutex_);
    batch_.insert(batch_.end(), standing_.begin(), standing_.end());
    standing_.clear();
  }
  for (Pending* pending : std::span(batch_).subspan(others)) {
    execute(transaction, *pending);
    pending->done = !pending->failure && pending->standing->is_done();
  }
  put_back_standing();
}

// Takes those out of the batch that have no answer yet.
void Writer::put_back_standing() {
  const auto is_unanswered = [](const Pending* pending) {
    return pending->standing != nullptr && !pending->done && !pending->failure;
  };
  std::vector<Pending*> unanswered;
  std::ranges::copy_if(batch_, std::back_inserter(unanswered), is_unanswered);
  if (unanswered.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(batch_, is_unanswered);
  standing_.insert(standing_.begin(), unanswered.begin(), unanswered.end());
  for (Pending* pending : unanswered) pending->wake.notify_one();  // it may be withdrawn
}

// Whether the transaction is worth another try: with the ballast gone, or without the one that spoilt it for the
// others.
bool Writer::repeat_after(const SqliteFailure& failure) {
  if (broken_) return false;
  const bool must_run = std::ranges::any_of(batch_, [](const Pending* pending) {
    return pending->operation.need == Operation::Need::kMustRun && pending->standing == nullptr;
  });
  if (is_disk_full(failure) && must_run && !used_ballast_ && options_.room != nullptr) {
    used_ballast_ = true;
    if (options_.room->use_ballast()) return true;
  }
  if (culprit_ == nullptr) return false;
  culprit_->failure = to_error(failure, "sqlite.write");
  return true;
}

void Writer::sync_failed(const SqliteFailure& failure) {
  broken_ = Error{ErrorCode::kStoreUnavailable, std::string("an fsync failed: ") + failure.what(), "sqlite.sync"};
  options_.on_sync_failure(broken_->message);
}

void Writer::after_commit() {
  if (!wrote_ || broken_) return;
  if (options_.on_commit) options_.on_commit(commit_mark_);
  if (options_.side_files == nullptr) return;
  if (rings_) options_.side_files->ring();
  // While a reader keeps the log from being reset, try again only after it has grown as much again.
  checkpointed_pages_ = std::min(checkpointed_pages_, wal_pages_);
  if ((wal_pages_ - checkpointed_pages_) * kPageBytes <= options_.checkpoint_wal_bytes) return;
  const bool overgrown = wal_pages_ * kPageBytes > kOvergrown * options_.checkpoint_wal_bytes;
  checkpoint(overgrown ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
}

// As far as readers let it, without waiting for them: others wait for the lock meanwhile.
void Writer::checkpoint(int mode) {
  checkpointed_pages_ = wal_pages_;
  sqlite3_busy_timeout(db_.handle(), 0);
  const int result = sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, mode, nullptr, nullptr);
  const SqliteFailure failure(sqlite3_extended_errcode(db_.handle()), sqlite3_errmsg(db_.handle()));
  sqlite3_busy_timeout(db_.handle(), static_cast<int>(options_.busy_wait.count()));
  if (result == SQLITE_OK || failure.primary_code() == SQLITE_BUSY || failure.primary_code() == SQLITE_LOCKED) return;
  if (is_sync_failure(failure)) return sync_failed(failure);
  log_warn("store", "a checkpoint failed; the write-ahead log goes on growing", {{"why", failure.what()}});
}

void Writer::checkpoint_at_close() {
  const bool has_grown = wal_pages_ * kPageBytes > options_.checkpoint_wal_bytes / 4;
  if (options_.side_files == nullptr || broken_ || !has_grown) return;
  WriterOptions at_once = options_;
  at_once.lock_wait = Millis(0);
  const Hold hold(at_once);
  if (hold.status() && check_files()) checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
}

Writer::Standing::Standing(Writer& writer, StandingOperation operation)
    : writer_(writer), operation_(std::move(operation)) {
  const std::lock_guard lock(writer_.mutex_);
  writer_.standing_.push_back(&pending_);
}

bool Writer::Standing::is_answered() {
  const std::lock_guard lock(writer_.mutex_);
  return pending_.answer.has_value();
}

std::optional<Status> Writer::Standing::withdraw() {
  std::unique_lock lock(writer_.mutex_);
  if (is_withdrawn_) return pending_.answer;
  pending_.wake.wait(lock, [&] { return pending_.answer || std::erase(writer_.standing_, &pending_) > 0; });
  is_withdrawn_ = true;
  return pending_.answer;
}

}  // namespace drover::sqlite
