#include "store/sqlite/standing_claim.h"

#include <algorithm>
#include <utility>

#include "store/sqlite/claim.h"

namespace drover::sqlite {
namespace {

std::vector<TaskRecord> try_claim(const StandingContext& context, Transaction& transaction, const ClaimOrder& order) {
  if (!context.may_claim() || !anything_ready(transaction.db(), order.request.serves, transaction.now())) return {};
  return claim_tasks(transaction, order.request, order.lease_ids, order.reserved).records;
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
  records_ = try_claim(context_, transaction, order_);
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
    // Only who has the lock tries: once we have had it, it was put back, or answered, or whoever tried it has died.
    const Status had_lock = context_.writer.run({&kClaimFailpoints, [](Transaction& /*none*/) {}});
    if (!had_lock) return std::unexpected(had_lock.error());
    if (place_->take_down()) return Taken<TaskRecord>{};
  }
  const StandingBoard::Place::Answer answer = place_->answer();
  auto found = context_.read(answer.tasks);
  if (!found) return std::unexpected(found.error());
  Taken<TaskRecord> taken{{}, answer.leased_at + order_.request.lease - context_.clock.mono()};
  for (std::optional<TaskRecord>& record : *found) {
    if (record && std::ranges::find(order_.lease_ids, record->lease) != order_.lease_ids.end())
      taken.tasks.push_back(*std::move(record));
  }
  return taken;
}

std::vector<StandingOperation> guests_of(const StandingContext& context) {
  std::vector<StandingOperation> guests;
  if (context.board == nullptr) return guests;
  for (StandingBoard::Visit& visit : context.board->visit_others(context.clock.mono())) {
    const auto shared = std::make_shared<StandingBoard::Visit>(std::move(visit));
    const auto took = std::make_shared<bool>(false);
    StandingOperation guest;
    guest.operation = {&kClaimFailpoints, [&context, shared, took](Transaction& transaction) {
                         const std::vector<TaskRecord> records = try_claim(context, transaction, shared->order());
                         *took = !records.empty();
                         if (*took) shared->note_taken(records, transaction.mono());
                       }};
    guest.is_done = [took] { return *took; };
    guest.on_answer = [shared] { shared->answer(); };
    guest.on_put_back = [shared] { shared->put_back(); };
    guests.push_back(std::move(guest));
  }
  return guests;
}

}  // namespace drover::sqlite
