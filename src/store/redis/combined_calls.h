// What several callers want done, sent as one call: what a call costs beside that is shared by all of them.
//
// A caller that finds no call under way sends, with everything that waits by then; so the busier the store is, the
// larger the calls become. (With two under way at once, calls of eight callers were half as large, and cost the server
// a fifth more.) Whoever was answered together mostly comes back together: so the first one waits for the others, for a
// small part of what the last call took. Else it would go alone, and every second call would be of one caller.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "drover/error.h"

namespace drover::redis {

// Safe from any thread. A parcel is what one caller sends, its size() says how much that is.
template <class Parcel, class Answer>
class CombinedCalls {
 public:
  using Answers = std::vector<Result<Answer>>;
  // Answers each of them.
  using Send = std::function<Answers(std::span<const Parcel* const> parcels)>;
  // size_max: of several callers; one alone may have more.
  CombinedCalls(std::size_t size_max, Send send) : size_max_(size_max), send_(std::move(send)) {}

  [[nodiscard]] Result<Answer> call(const Parcel& parcel) {
    Caller self{.parcel = &parcel};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&self);
    if (waiting_.size() >= expected_) came_.notify_one();
    while (!self.answer) {
      if (is_under_way_) {
        moved_.wait(lock);
        continue;
      }
      is_under_way_ = true;
      came_.wait_for(lock, patience_, [this] { return waiting_.size() >= expected_; });
      const std::vector<Caller*> callers = take_waiting();
      lock.unlock();
      const auto sent_at = std::chrono::steady_clock::now();
      send(callers);
      const auto took = std::chrono::steady_clock::now() - sent_at;
      lock.lock();
      expected_ = callers.size() + waiting_.size();
      patience_ = std::min<std::chrono::nanoseconds>(took / kPatiencePart, kPatienceMax);
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
  static constexpr int kPatiencePart = 4;  // of the time that the last call took
  static constexpr std::chrono::microseconds kPatienceMax{200};

  struct Caller {
    const Parcel* parcel;
    std::optional<Result<Answer>> answer = {};
  };

  // As many as fit into one call, and one at least.
  std::vector<Caller*> take_waiting() {
    std::size_t size = 0;
    std::size_t n = 0;
    for (; n < waiting_.size(); ++n) {
      size += waiting_[n]->parcel->size();
      if (n > 0 && size > size_max_) break;
    }
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(n);
    std::vector<Caller*> taken(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    return taken;
  }

  void send(std::span<Caller* const> callers) {
    std::vector<const Parcel*> parcels;
    for (const Caller* caller : callers) parcels.push_back(caller->parcel);
    Answers answers = send_(parcels);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < callers.size(); ++i) callers[i]->answer = std::move(answers[i]);
  }

  const std::size_t size_max_;
  const Send send_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::condition_variable came_;  // all that are expected
  std::vector<Caller*> waiting_;
  std::size_t expected_ = 1;  // callers that the last call has answered or left waiting
  std::chrono::nanoseconds patience_{0};
  bool is_under_way_ = false;
};

}  // namespace drover::redis
