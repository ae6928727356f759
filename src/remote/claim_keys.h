// Keys for the claims of workers. One whose answer may have been lost is repeated with its key by the worker's next
// claim, which so gets what the first one took.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/rng.h"
#include "drover/task_queue.h"

namespace drover::remote {

// Safe from any thread. Bounded: beyond kUnansweredMax workers the keys of some are forgotten, and what their claims
// took waits for the end of its lease.
class ClaimKeys {
 public:
  // Outlives it.
  explicit ClaimKeys(Rng& rng) : rng_(rng) {}

  // For the next claim of the worker: the key of one without an answer, or a new one.
  [[nodiscard]] std::string take(const std::string& worker_id);
  // What became of a claim with this key.
  void answered(const std::string& worker_id, const std::string& key, const Result<std::vector<ClaimedTask>>& answer);

 private:
  static constexpr std::size_t kUnansweredMax = 1'000;

  Rng& rng_;
  std::mutex mutex_;
  std::map<std::string, std::string> unanswered_;  // worker -> key
};

}  // namespace drover::remote
