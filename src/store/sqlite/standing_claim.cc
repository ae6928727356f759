#include "store/sqlite/standing_claim.h"

#include <utility>

#include "store/sqlite/claim.h"

namespace drover::sqlite {

SqliteStandingClaim::SqliteStandingClaim(Writer& writer, Clock& clock, Order order)
    : clock_(clock), order_(std::move(order)), standing_(writer, operation()) {}

StandingOperation SqliteStandingClaim::operation() {
  StandingOperation standing;
  standing.operation = {&kClaimFailpoints, [this](Transaction& transaction) { claim(transaction); }};
  standing.is_done = [this] { return !records_.empty(); };
  standing.on_answer = order_.on_answer;
  return standing;
}

void SqliteStandingClaim::claim(Transaction& transaction) {
  records_.clear();
  if (!order_.may_claim() || !anything_ready(transaction.db(), order_.request.serves, transaction.now())) return;
  records_ = claim_tasks(transaction, order_.request, order_.lease_ids, order_.reserved).records;
  leased_at_ = transaction.mono();
}

Result<Taken<TaskRecord>> SqliteStandingClaim::withdraw() {
  const std::optional<Status> answer = standing_.withdraw();
  if (!answer) return Taken<TaskRecord>{};
  if (!*answer) return std::unexpected(answer->error());
  return Taken<TaskRecord>{std::move(records_), leased_at_ + order_.request.lease - clock_.mono()};
}

}  // namespace drover::sqlite
