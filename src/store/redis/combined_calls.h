// Groups of several callers sent as one call: what a call costs beside its groups is shared by all of them.
//
// A caller whose groups find fewer than kUnderWayMax calls under way sends at once, with everything that waits by then;
// so nobody waits for company, and the busier the store is, the larger the calls become.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "store/redis/pack.h"
#include "store/store.h"

namespace drover::redis {

// Safe from any thread.
class CombinedCalls {
 public:
  // Sends so many packed groups; answers with a verdict on each.
  using Send = std::function<Result<std::vector<Applied>>(std::int64_t groups, const Pack& packed)>;
  explicit CombinedCalls(Send send) : send_(std::move(send)) {}

  [[nodiscard]] Result<std::vector<Applied>> apply(std::span<const StepGroup> groups);
  // Callers whose groups are not on their way yet.
  [[nodiscard]] std::size_t waiting();

 private:
  struct Caller {
    Pack packed;
    std::int64_t groups = 0;
    std::optional<Result<std::vector<Applied>>> answer = {};
  };
  static constexpr int kUnderWayMax = 2;
  static constexpr std::int64_t kGroupsMax = 1'000;  // of several callers; one alone may have more

  // The first callers that wait, as far as they fit into one call.
  std::vector<Caller*> take_waiting();
  void send(std::span<Caller* const> callers);

  const Send send_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<Caller*> waiting_;
  int under_way_ = 0;
};

}  // namespace drover::redis
