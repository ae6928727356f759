// Claims with a key: what one took is kept with its worker, so that a repeat gets the same tasks and no others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// The latest keyed claim of a worker that took something.
struct KeyedClaim {
  std::optional<std::string> key;
  std::vector<Lease> leases;
};
// Nothing if the worker is not registered.
[[nodiscard]] std::optional<KeyedClaim> read_keyed_claim(Connection& db, const std::string& worker_id);
// Whether a claim is to be made although nothing waits: it repeats one, or its worker has to register first.
[[nodiscard]] bool may_answer_more(Connection& db, const ClaimRequest& request);
// Whether the claim repeats the one that is kept.
[[nodiscard]] bool is_repeat(const ClaimRequest& request, const KeyedClaim& kept);

// Renews what the claim that is kept still holds, and answers with it.
[[nodiscard]] Claimed claim_again(Transaction& transaction, const ClaimRequest& request, const KeyedClaim& kept);
// With nothing taken the key is as good as never used.
void keep_claim(Transaction& transaction, const ClaimRequest& request, const Claimed& claimed);

}  // namespace drover::sqlite
