#include "remote/claim_keys.h"

namespace drover::remote {

std::string ClaimKeys::take(const std::string& worker_id) {
  const std::lock_guard lock(mutex_);
  if (auto kept = unanswered_.extract(worker_id)) return std::move(kept.mapped());
  return new_lease_id(rng_).to_string();
}

void ClaimKeys::answered(const std::string& worker_id, const std::string& key,
                         const Result<std::vector<ClaimedTask>>& answer) {
  if (answer || error_info(answer.error().code).retryable == Retryable::kNo) return;
  const std::lock_guard lock(mutex_);
  if (unanswered_.size() >= kUnansweredMax) unanswered_.erase(unanswered_.begin());
  unanswered_.insert_or_assign(worker_id, key);
}

}  // namespace drover::remote
