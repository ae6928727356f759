// A claim that stands with the writer: the commit that makes tasks ready carries it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/sqlite/writer.h"
#include "store/store.h"

namespace drover::sqlite {

class SqliteStandingClaim final : public StandingClaim<TaskRecord> {
 public:
  struct Order {
    ClaimRequest request;
    std::vector<LeaseId> lease_ids;
    std::optional<ReservedSlots> reserved;
    std::function<bool()> may_claim;  // asked in the transaction
    std::function<void()> on_answer;
  };

  // Both outlive it.
  SqliteStandingClaim(Writer& writer, Clock& clock, Order order);

  bool is_answered() override { return standing_.is_answered(); }
  Result<Taken<TaskRecord>> withdraw() override;

 private:
  void claim(Transaction& transaction);
  [[nodiscard]] StandingOperation operation();

  Clock& clock_;
  const Order order_;
  // What the transaction took that was tried last.
  std::vector<TaskRecord> records_;
  MonoTime leased_at_{};
  Writer::Standing standing_;
};

}  // namespace drover::sqlite
