// What several callers want done, sent as one call: what a call costs beside that is shared by all of them.
//
// A caller that finds no call under way sends at once, with everything that waits by then; so nobody waits for company,
// and the busier the store is, the larger the calls become. (With two under way at once, calls of eight callers were
// half as large, and cost the server a fifth more.)
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "drover/error.h"

namespace drover::redis {

// Whether two parcels may go in one call. Those of most kinds always may.
template <class Parcel>
bool go_together(const Parcel&, const Parcel&) {
  return true;
}

// Safe from any thread. A parcel is what one caller sends, its size() says how much that is.
template <class Parcel, class Answer>
class CombinedCalls {
 public:
  // Answers each of them.
  using Send = std::function<Result<std::vector<Answer>>(std::span<const Parcel* const> parcels)>;
  // size_max: of several callers; one alone may have more.
  CombinedCalls(std::size_t size_max, Send send) : size_max_(size_max), send_(std::move(send)) {}

  [[nodiscard]] Result<Answer> call(const Parcel& parcel) {
    Caller self{.parcel = &parcel};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&self);
    while (!self.answer) {
      if (is_under_way_) {
        moved_.wait(lock);
        continue;
      }
      const std::vector<Caller*> callers = take_waiting();
      is_under_way_ = true;
      lock.unlock();
      send(callers);
      lock.lock();
      is_under_way_ = false;
      moved_.notify_all();
    }
    return *std::move(self.answer);
  }

  // Callers whose parcels are not on their way yet.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Caller {
    const Parcel* parcel;
    std::optional<Result<Answer>> answer = {};
  };

  // The first caller that waits, and those behind it that may go with it, as far as they fit into one call.
  std::vector<Caller*> take_waiting() {
    std::vector<Caller*> taken;
    std::vector<Caller*> left;
    std::size_t size = 0;
    for (Caller* caller : waiting_) {
      const std::size_t with_it = size + caller->parcel->size();
      if (taken.empty() || (with_it <= size_max_ && go_together(*taken.front()->parcel, *caller->parcel))) {
        taken.push_back(caller);
        size = with_it;
      } else {
        left.push_back(caller);
      }
    }
    waiting_ = std::move(left);
    return taken;
  }

  void send(std::span<Caller* const> callers) {
    std::vector<const Parcel*> parcels;
    for (const Caller* caller : callers) parcels.push_back(caller->parcel);
    auto answers = send_(parcels);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < callers.size(); ++i) {
      callers[i]->answer = answers ? Result<Answer>(std::move((*answers)[i])) : std::unexpected(answers.error());
    }
  }

  const std::size_t size_max_;
  const Send send_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<Caller*> waiting_;
  bool is_under_way_ = false;
};

}  // namespace drover::redis
