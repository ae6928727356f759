#include "store/sqlite/standing_claim.h"

#include <utility>

#include "store/sqlite/claim.h"

namespace drover::sqlite {

SqliteStandingClaim::SqliteStandingClaim(const StandingContext& context, ClaimOrder order,
                                         std::function<void()> on_answer)
    : context_(context),
      order_(std::move(order)),
      standing_(context.writer, {.operation = {&kClaimFailpoints, [this](Transaction& part) { claim(part); }},
                                 .is_done = [this] { return !records_.empty(); },
                                 .on_answer = std::move(on_answer)}) {}

void SqliteStandingClaim::claim(Transaction& transaction) {
  records_.clear();
  if (!context_.may_claim()) return;
  if (!anything_ready(transaction.db(), order_.request.serves, transaction.now())) return;
  records_ = claim_tasks(transaction, order_.request, order_.lease_ids, order_.reserved).records;
  leased_at_ = transaction.mono();
}

Result<Taken<TaskRecord>> SqliteStandingClaim::withdraw() {
  const std::optional<Status> answer = standing_.withdraw();
  if (!answer) return Taken<TaskRecord>{};
  if (!*answer) return std::unexpected(answer->error());
  return Taken<TaskRecord>{std::move(records_), leased_at_ + order_.request.lease - context_.clock.mono()};
}

}  // namespace drover::sqlite
