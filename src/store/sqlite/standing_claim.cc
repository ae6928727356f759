#include "store/sqlite/standing_claim.h"

#include <algorithm>
#include <utility>

#include "store/sqlite/claim.h"

namespace drover::sqlite {
namespace {

bool may_find_something(const StandingContext& context, Transaction& transaction, const ClaimOrder& order) {
  return context.may_claim() && anything_ready(transaction.db(), order.request.serves, transaction.now());
}

}  // namespace

SqliteStandingClaim::SqliteStandingClaim(const StandingContext& context, ClaimOrder order,
                                         std::function<void()> on_answer)
    : context_(context),
      order_(std::move(order)),
      place_(context.board != nullptr ? context.board->leave(order_, context.clock.mono()) : nullptr),
      standing_(context.writer, operation(std::move(on_answer))) {}

// The two never take tasks at the same time: this process takes its claim down from the board before it tries it.
StandingOperation SqliteStandingClaim::operation(std::function<void()> on_answer) {
  StandingOperation standing;
  standing.operation = {&kClaimFailpoints, [this](Transaction& transaction) { claim(transaction); }};
  standing.is_done = [this] { return !records_.empty(); };
  standing.on_answer = std::move(on_answer);
  standing.on_put_back = [this] {
    if (place_) place_->put_up();
  };
  return standing;
}

void SqliteStandingClaim::claim(Transaction& transaction) {
  records_.clear();
  if (place_ && !place_->take_down()) return;
  if (!may_find_something(context_, transaction, order_)) return;
  records_ = claim_tasks(transaction, order_.request, order_.lease_ids, order_.reserved).records;
  leased_at_ = transaction.mono();
}

bool SqliteStandingClaim::is_answered() {
  return standing_.is_answered() || (place_ && place_->is_answered());
}

Result<Taken<TaskRecord>> SqliteStandingClaim::withdraw() {
  const std::optional<Status> answer = standing_.withdraw();
  if (!answer) return place_ ? withdraw_from_board() : Taken<TaskRecord>{};
  if (!*answer) return std::unexpected(answer->error());
  return Taken<TaskRecord>{std::move(records_), leased_at_ + order_.request.lease - context_.clock.mono()};
}

Result<Taken<TaskRecord>> SqliteStandingClaim::withdraw_from_board() {
  if (place_->take_down()) return Taken<TaskRecord>{};
  if (!place_->is_answered()) {
    // Somebody tries it, who has the lock; or had it, and has died.
    Operation close{&kClaimFailpoints, [this](Transaction& /*none*/) { place_->close(); }};
    close.notice = Operation::Notice::kSilent;
    if (Status closed = context_.writer.run(close); !closed) return std::unexpected(closed.error());
  }
  const StandingBoard::Place::Answer answer = place_->answer();
  auto found = context_.read(answer.tasks);
  if (!found) return std::unexpected(found.error());
  Taken<TaskRecord> taken;
  std::vector<LeaseId> leases = order_.lease_ids;
  for (std::optional<TaskRecord>& record : *found) {
    if (record && std::erase(leases, record->lease) > 0) taken.tasks.push_back(*std::move(record));
  }
  if (!taken.tasks.empty()) taken.lease_left = answer.leased_at + order_.request.lease - context_.clock.mono();
  return taken;
}

std::vector<StandingOperation> guests_of(const StandingContext& context, Transaction& transaction) {
  std::vector<StandingOperation> guests;
  if (context.board == nullptr) return guests;
  const auto may_find = [&](const ClaimOrder& order) { return may_find_something(context, transaction, order); };
  for (StandingBoard::Visit& visited : context.board->visit_others(context.clock.mono(), may_find)) {
    const auto visit = std::make_shared<StandingBoard::Visit>(std::move(visited));
    StandingOperation guest;
    guest.operation = {
        &kClaimFailpoints, [visit](Transaction& part) {
          const ClaimOrder& order = visit->order();
          visit->note_taken(
              claim_tasks(part, order.request, order.lease_ids, order.reserved, ClaimFor::kOtherProcess).records,
              part.mono());
        }};
    guest.is_done = [visit] { return visit->has_taken(); };
    guest.on_answer = [visit] { visit->answer(); };
    guest.on_put_back = [visit] { visit->put_back(); };
    guests.push_back(std::move(guest));
  }
  return guests;
}

}  // namespace drover::sqlite
