#include "store/sqlite/epochs.h"

#include <algorithm>

#include "embedded/sqlite.h"
#include "store/epoch_id.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kEpochs = named_sql(embedded::epochs_sql, "epochs");
constexpr std::string_view kLastEvent = named_sql(embedded::epochs_sql, "last_event");
constexpr std::string_view kLastEpoch = named_sql(embedded::epochs_sql, "last_epoch");
constexpr std::string_view kDropEpochs = named_sql(embedded::epochs_sql, "drop_epochs");
constexpr std::string_view kForgetEpochs = named_sql(embedded::epochs_sql, "forget_epochs");
constexpr std::string_view kPutEpoch = named_sql(embedded::epochs_sql, "put_epoch");
constexpr std::string_view kPutEpochNumber = named_sql(embedded::epochs_sql, "put_epoch_number");

void begin_epoch(Connection& db, std::int64_t number, std::int64_t after, Epoch::Cause cause) {
  db.run(kPutEpoch, number, new_epoch_id(system_rng()), after, name_of(cause));
  db.run(kPutEpochNumber, number);
  db.run(kForgetEpochs);
}

void begin_epoch(Transaction& transaction, std::int64_t number, Epoch::Cause cause) {
  begin_epoch(transaction.db(), number, transaction.last_event_seq(), cause);
  transaction.note_epoch(number);
}

}  // namespace

void begin_epoch(Connection& db, Epoch::Cause cause) {
  begin_epoch(db, db.number(kLastEpoch) + 1, db.number(kLastEvent), cause);
}

bool would_be_hidden(const StoreExtent& extent, const Mark& seen) {
  const Epoch& last = extent.epochs.back();
  return last.id == seen.epoch || last.number < seen.number;
}

StoreExtent read_extent(Connection& db) {
  StoreExtent extent;
  Statement query = db.prepare(kEpochs);
  while (query.step()) {
    Epoch& epoch = extent.epochs.emplace_back();
    epoch.number = query.integer();
    epoch.id = query.text();
    epoch.after = query.integer();
    const auto cause = parse_epoch_cause(query.text());
    if (!cause) throw SqliteFailure(SQLITE_CORRUPT, "unreadable cause of an epoch");
    epoch.cause = *cause;
  }
  if (extent.epochs.empty()) throw SqliteFailure(SQLITE_CORRUPT, "table epoch is empty");
  extent.seq = db.number(kLastEvent);
  return extent;
}

void end_lost_epoch(Transaction& transaction, const Mark& seen) {
  if (!would_be_hidden(read_extent(transaction.db()), seen)) return;  // somebody else has ended it
  begin_epoch(transaction, seen.number + 1, Epoch::Cause::kRegressed);
}

void accept_loss(Transaction& transaction, const Mark& seen, const std::optional<Loss>& loss) {
  const std::int64_t last = read_extent(transaction.db()).epochs.back().number;
  begin_epoch(transaction, std::max(last, seen.number) + 1, Epoch::Cause::kAccepted);
  transaction.add_event(Task(), kRegressionAccepted, acceptance_data(loss));
}

bool restore_epochs(Transaction& transaction, std::span<const Epoch> epochs) {
  Connection& db = transaction.db();
  if (read_extent(db).epochs.back().id != epochs.back().id) return false;
  db.run(kDropEpochs);
  for (const Epoch& epoch : epochs) db.run(kPutEpoch, epoch.number, epoch.id, epoch.after, name_of(epoch.cause));
  begin_epoch(transaction, epochs.back().number + 1, Epoch::Cause::kRestored);
  return true;
}

}  // namespace drover::sqlite
