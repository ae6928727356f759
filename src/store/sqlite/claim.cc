#include "store/sqlite/claim.h"

#include <algorithm>
#include <compare>

#include "base/check.h"
#include "base/planted_bug.h"
#include "core/transition.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/step_write.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kReady = named_sql(embedded::claim_sql, "ready");
constexpr std::string_view kReadyOfType = named_sql(embedded::claim_sql, "ready_of_type");
constexpr std::string_view kScheduled = named_sql(embedded::claim_sql, "scheduled");

// In the order in which they are claimed.
struct Candidate {
  int priority = 0;
  std::int64_t place = 0;
  std::int64_t seq = 0;

  auto operator<=>(const Candidate&) const = default;
};

void read_candidates(Statement& query, std::vector<Candidate>& found) {
  while (query.step()) {
    const int priority = query.small();
    const std::int64_t place = query.integer();
    found.push_back({priority, place, query.integer()});
  }
}

void look_in(Connection& db, const Serve& serve, int limit, std::vector<Candidate>& found) {
  Statement query = db.prepare(serve.type ? kReadyOfType : kReady);
  query.bind(serve.queue, limit);
  if (serve.type) query.bind(*serve.type);
  read_candidates(query, found);
  if (planted(PlantedBug::kClaimIgnoresRunAt)) {
    Statement early = db.prepare(kScheduled);
    early.bind(serve.queue, limit);
    read_candidates(early, found);
  }
}

std::vector<std::int64_t> best_seqs(Connection& db, std::span<const Serve> serves, int limit) {
  std::vector<Candidate> found;
  for (const Serve& serve : serves) look_in(db, serve, limit, found);
  std::ranges::sort(found);
  // Two serves may name the same queue.
  found.erase(std::ranges::unique(found).begin(), found.end());
  std::vector<std::int64_t> seqs;
  for (const Candidate& candidate : found) {
    if (std::cmp_equal(seqs.size(), limit)) break;
    seqs.push_back(candidate.seq);
  }
  return seqs;
}

}  // namespace

bool anything_ready(Connection& db, std::span<const Serve> serves) {
  return !best_seqs(db, serves, 1).empty();
}

std::vector<TaskRecord> claim_tasks(Transaction& transaction, const ClaimRequest& request,
                                    std::span<const LeaseId> lease_ids) {
  Connection& db = transaction.db();
  const LeaseTimes times{transaction.mono() + request.lease, transaction.mono()};
  const DecisionContext context{.now = transaction.now()};
  std::vector<TaskRecord> claimed;
  for (TaskRecord& record : read_records(db, best_seqs(db, request.serves, request.n))) {
    if (planted(PlantedBug::kClaimIgnoresRunAt)) record.task.state = TaskState::kPending;
    Result<Step> step = decide(record, trigger::Claim{lease_ids[claimed.size()], request.worker_id}, context);
    CHECK_MSG(step.has_value(), "a task that stands in line cannot be claimed");
    const std::optional<Stored> stored = find_stored(db, record.task.id);
    CHECK(stored.has_value());
    update_task(transaction, *stored, *step, times);
    claimed.push_back(std::move(step->next));
    claimed.back().revision = stored->revision + 1;
  }
  return claimed;
}

}  // namespace drover::sqlite
