#include "store/sqlite/keyed_claim.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/planted_bug.h"
#include "embedded/sqlite.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/reads.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kKeyedClaim = named_sql(embedded::claim_sql, "keyed_claim");
constexpr std::string_view kPutKeyedClaim = named_sql(embedded::claim_sql, "put_keyed_claim");

constexpr std::size_t kIdBytes = sizeof(TaskId::Bytes);
static_assert(sizeof(LeaseId::Bytes) == kIdBytes);

std::vector<std::uint8_t> pack(std::span<const TaskRecord> records) {
  std::vector<std::uint8_t> packed;
  packed.reserve(records.size() * 2 * kIdBytes);
  for (const TaskRecord& record : records) {
    for (const auto& id : {record.task.id.bytes(), record.lease.bytes()}) {
      packed.insert(packed.end(), id.begin(), id.end());
    }
  }
  return packed;
}

std::vector<Lease> unpack(std::string_view packed) {
  std::vector<Lease> leases;
  const auto take = [&](auto bytes) {
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    packed.remove_prefix(bytes.size());
    return bytes;
  };
  while (packed.size() >= 2 * kIdBytes) {
    const TaskId task(take(TaskId::Bytes{}));
    leases.push_back({task, LeaseId(take(LeaseId::Bytes{}))});
  }
  return leases;
}

}  // namespace

std::optional<KeyedClaim> read_keyed_claim(Connection& db, const std::string& worker_id) {
  Statement query = db.prepare(kKeyedClaim);
  if (!query.bind(worker_id).step()) return std::nullopt;
  KeyedClaim kept;
  kept.key = query.maybe_text();
  kept.leases = unpack(query.maybe_text().value_or(""));
  return kept;
}

bool may_answer_more(Connection& db, const ClaimRequest& request) {
  if (!request.claim_key) return false;
  const std::optional<KeyedClaim> kept = read_keyed_claim(db, request.worker_id);
  return !kept || request.claim_key == kept->key;
}

bool is_repeat(const ClaimRequest& request, const KeyedClaim& kept) {
  if (planted(PlantedBug::kClaimKeyTakesOthers)) return false;
  return request.claim_key && request.claim_key == kept.key && !request.takes_others;
}

Claimed claim_again(Transaction& transaction, const ClaimRequest& request, const KeyedClaim& kept) {
  const Beat beat = renew_leases(transaction, request.worker_id, kept.leases, request.lease);
  Claimed claimed;
  for (std::size_t i = 0; i < kept.leases.size(); ++i) {
    if (beat.leases[i] == LeaseState::kLost) continue;
    auto record = read_task(transaction.db(), kept.leases[i].task, Parts::kAll);
    if (record) claimed.records.push_back(*std::move(record));
  }
  return claimed;
}

void keep_claim(Transaction& transaction, const ClaimRequest& request, const Claimed& claimed) {
  const bool took_any = !claimed.records.empty();
  if (!took_any && !request.takes_others) return;
  const std::vector<std::uint8_t> packed = pack(claimed.records);
  transaction.db().run(kPutKeyedClaim, request.worker_id, took_any ? request.claim_key : std::nullopt,
                       std::span<const std::uint8_t>(packed));
}

}  // namespace drover::sqlite
