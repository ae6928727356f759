// A claim that stands with the writer, and on the board for the writers of other processes: the commit that makes tasks
// ready carries it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/sqlite/standing_board.h"
#include "store/sqlite/writer.h"
#include "store/store.h"

namespace drover::sqlite {

// What all claims that stand need of their store; it outlives them.
struct StandingContext {
  Writer& writer;
  Clock& clock;
  StandingBoard* board;             // null: there is none
  std::function<bool()> may_claim;  // asked in the transaction
  std::function<Result<std::vector<std::optional<TaskRecord>>>(std::span<const TaskId>)> read;
};

class SqliteStandingClaim final : public StandingClaim<TaskRecord> {
 public:
  SqliteStandingClaim(const StandingContext& context, ClaimOrder order, std::function<void()> on_answer);

  bool is_answered() override;
  Result<Taken<TaskRecord>> withdraw() override;

 private:
  void claim(Transaction& transaction);
  [[nodiscard]] StandingOperation operation(std::function<void()> on_answer);
  [[nodiscard]] Result<Taken<TaskRecord>> withdraw_from_board();

  const StandingContext& context_;
  const ClaimOrder order_;
  // What the transaction took that was tried last.
  std::vector<TaskRecord> records_;
  MonoTime leased_at_{};
  std::unique_ptr<StandingBoard::Place> place_;  // null: not on the board
  Writer::Standing standing_;
};

// The claims that other processes have left, and that may find something in the transaction.
[[nodiscard]] std::vector<StandingOperation> guests_of(const StandingContext& context, Transaction& transaction);

}  // namespace drover::sqlite
