#include "store/sqlite/leases.h"

#include "base/json.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/task_log.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kRenew = named_sql(embedded::leases_sql, "renew");
constexpr std::string_view kRevoke = named_sql(embedded::leases_sql, "revoke");
constexpr std::string_view kForgetRevoked = named_sql(embedded::leases_sql, "forget_revoked");
constexpr std::string_view kIsRevoked = named_sql(embedded::leases_sql, "is_revoked");
constexpr std::string_view kBeat = named_sql(embedded::leases_sql, "beat");
constexpr std::string_view kLive = named_sql(embedded::leases_sql, "live");
constexpr std::string_view kPutProgress = named_sql(embedded::leases_sql, "put_progress");
constexpr std::string_view kCheckpointBytes = named_sql(embedded::leases_sql, "checkpoint_bytes");
constexpr std::string_view kPutCheckpoint = named_sql(embedded::leases_sql, "put_checkpoint");
constexpr std::string_view kAddHeldBytes = named_sql(embedded::leases_sql, "add_held_bytes");

LeaseState renew_lease(Transaction& transaction, const Lease& lease, Millis duration) {
  const MonoTime now = transaction.mono();
  Statement update = transaction.db().prepare(kRenew);
  update.bind((now + duration).since_origin, now.since_origin, lease.task, lease.id);
  if (!update.step()) return LeaseState::kLost;
  const LeaseState state = update.maybe_integer() ? LeaseState::kCancelRequested : LeaseState::kHeld;
  update.run();
  return state;
}

JsonText progress_data(const Progress& progress) {
  json::Writer writer;
  writer.begin_object().key("percent").number(progress.percent).key("message").string(progress.message).end_object();
  return std::move(writer).take();
}

void put_progress(Transaction& transaction, std::int64_t seq, const Task& task, const Progress& progress) {
  transaction.db().run(kPutProgress, progress.percent, progress.message, seq);
  transaction.add_event(task, "task.progressed", progress_data(progress));
}

// Returns by how much what the task holds has grown.
std::int64_t put_checkpoint(Transaction& transaction, std::int64_t seq, const JsonText& checkpoint) {
  Connection& db = transaction.db();
  const std::int64_t before = db.number(kCheckpointBytes, seq);
  db.run(kPutCheckpoint, seq, checkpoint);
  return static_cast<std::int64_t>(checkpoint.size()) - before;
}

}  // namespace

Beat renew_leases(Transaction& transaction, const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  Beat beat;
  {
    Statement update = transaction.db().prepare(kBeat);
    update.bind(transaction.now(), transaction.mono().since_origin, worker_id);
    if (update.step()) {
      beat.drain = update.flag();
      update.run();
    }
  }
  beat.leases.reserve(leases.size());
  for (const Lease& held : leases) beat.leases.push_back(renew_lease(transaction, held, lease));
  return beat;
}

void revoke_lease(Transaction& transaction, std::int64_t seq) {
  transaction.db().run(kForgetRevoked, transaction.mono().since_origin);
  transaction.db().run(kRevoke, seq);
}

bool is_still_leased(Transaction& transaction, std::int64_t seq) {
  return transaction.db().number(kIsRevoked, seq, transaction.mono().since_origin) > 0;
}

bool write_note(Transaction& transaction, const Note& note, std::int64_t log_bytes_max) {
  Task task;
  task.id = note.lease.task;
  task.state = TaskState::kRunning;
  std::int64_t seq = 0;
  {
    Statement query = transaction.db().prepare(kLive);
    if (!query.bind(note.lease.task, note.lease.id).step()) return false;
    seq = query.integer();
    task.type = query.text();
    task.queue = query.text();
    task.owner = query.text();
    task.run = query.small();
    task.generation = query.small();
  }
  if (note.progress) put_progress(transaction, seq, task, *note.progress);
  std::int64_t growth = 0;
  if (note.checkpoint) growth += put_checkpoint(transaction, seq, *note.checkpoint);
  if (!note.log.empty()) growth += append_log(transaction, seq, task.run, note.log, log_bytes_max);
  if (growth != 0) {
    transaction.db().run(kAddHeldBytes, growth, seq);
    transaction.count(task, TaskState::kRunning, {0, growth});
  }
  return true;
}

}  // namespace drover::sqlite
