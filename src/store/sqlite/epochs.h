// The epochs of a database. See docs/internals/store-epochs.md.
#pragma once

#include "core/epoch.h"
#include "store/sqlite/transaction.h"

namespace drover::sqlite {

[[nodiscard]] StoreExtent read_extent(Connection& db);
// Within a transaction: the next epoch, behind all events so far. The oldest are forgotten when there are very many.
void begin_epoch(Connection& db, Epoch::Cause cause);
// Of a loss: as many new events would hide it, because no epoch tells yet where what was seen ended.
[[nodiscard]] bool would_be_hidden(const StoreExtent& extent, const Mark& seen);
// Ends the epoch in which something was lost, so that as many new events do not hide it.
void end_lost_epoch(Transaction& transaction, const Mark& seen);
// Begins an accepted epoch whose number is larger than every other's and than `seen`. Tells of it in an event.
void accept_loss(Transaction& transaction, const Mark& seen, const std::optional<Loss>& loss);
// See Store::restore_epochs.
[[nodiscard]] bool restore_epochs(Transaction& transaction, std::span<const Epoch> epochs);

}  // namespace drover::sqlite
