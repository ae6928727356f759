// A claim that stands with the writer: the commit that makes tasks ready carries it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "store/sqlite/writer.h"
#include "store/store.h"

namespace drover::sqlite {

// What all claims that stand need of their store; it outlives them.
struct StandingContext {
  Writer& writer;
  Clock& clock;
  std::function<bool()> may_claim;  // asked in the transaction
};

// What a claim asks for. As many lease ids as the tasks that it may take.
struct ClaimOrder {
  ClaimRequest request;
  std::vector<LeaseId> lease_ids;
  std::optional<ReservedSlots> reserved;
};

class SqliteStandingClaim final : public StandingClaim<TaskRecord> {
 public:
  SqliteStandingClaim(const StandingContext& context, ClaimOrder order, std::function<void()> on_answer);

  bool is_answered() override { return standing_.is_answered(); }
  Result<Taken<TaskRecord>> withdraw() override;

 private:
  void claim(Transaction& transaction);

  const StandingContext& context_;
  const ClaimOrder order_;
  // What the transaction took that was tried last.
  std::vector<TaskRecord> records_;
  MonoTime leased_at_{};
  Writer::Standing standing_;
};

}  // namespace drover::sqlite
