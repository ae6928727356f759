#include "store/redis/combined_calls.h"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>
#include <set>
#include <thread>

namespace drover::redis {
namespace {

struct Parcel {
  std::size_t n;

  [[nodiscard]] std::size_t size() const { return n; }
};

using Calls = CombinedCalls<Parcel, int>;
using Sizes = std::vector<std::size_t>;
constexpr std::size_t kSizeMax = 10;

Sizes sizes_of(std::span<const Parcel* const> parcels) {
  Sizes sizes;
  for (const Parcel* parcel : parcels) sizes.push_back(parcel->size());
  return sizes;
}

TEST(CombinedCallsTest, ACallerAloneSendsAtOnceWhateverItsSize) {
  std::vector<Sizes> sent;
  Calls calls(kSizeMax, [&](std::span<const Parcel* const> parcels) {
    sent.push_back(sizes_of(parcels));
    return Calls::Answers{7};
  });
  EXPECT_EQ(calls.call({.n = kSizeMax + 1}), 7);
  EXPECT_EQ(sent, (std::vector<Sizes>{{kSizeMax + 1}}));
}

// Holds a call under way while others come, and answers every parcel with its place in its call.
class CombinedCallsUnderWayTest : public testing::Test {
 protected:
  // What is sent when these come meanwhile, each on a thread of its own. Adds what they were answered.
  std::multiset<Sizes> sent_of(std::span<const Parcel> late, std::multiset<int>& answers) {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { EXPECT_TRUE(calls_.call({.n = 1})); });
    held_.wait();
    for (const Parcel& parcel : late) {
      threads.emplace_back([&] {
        const auto answer = calls_.call(parcel);
        const std::lock_guard lock(mutex_);
        answers.insert(answer.value_or(-1));
      });
    }
    while (calls_.waiting() < late.size()) std::this_thread::yield();
    let_go_.release();
    threads.clear();
    return {sent_.begin() + 1, sent_.end()};
  }

 private:
  Calls::Answers send(std::span<const Parcel* const> parcels) {
    bool is_early = false;
    {
      const std::lock_guard lock(mutex_);
      sent_.push_back(sizes_of(parcels));
      is_early = sent_.size() == 1;
    }
    if (is_early) {
      held_.count_down();
      let_go_.acquire();
    }
    Calls::Answers places;
    for (std::size_t i = 0; i < parcels.size(); ++i) places.emplace_back(static_cast<int>(i));
    return places;
  }

  std::binary_semaphore let_go_{0};
  std::latch held_{1};
  std::mutex mutex_;
  std::vector<Sizes> sent_;

 protected:
  Calls calls_{kSizeMax, [this](auto parcels) { return send(parcels); }};
};

TEST_F(CombinedCallsUnderWayTest, WhoComesMeanwhileGoesTogetherAndGetsItsOwnAnswer) {
  std::multiset<int> answers;
  const std::vector<Parcel> late(5, Parcel{.n = 2});
  EXPECT_EQ(sent_of(late, answers), (std::multiset<Sizes>{{2, 2, 2, 2, 2}}));
  EXPECT_EQ(answers, (std::multiset<int>{0, 1, 2, 3, 4}));
}

TEST_F(CombinedCallsUnderWayTest, WhoComesBackAloneIsNotKeptWaiting) {
  std::multiset<int> answers;
  sent_of(std::vector<Parcel>(5, Parcel{.n = 2}), answers);
  EXPECT_EQ(calls_.call({.n = 3}), 0);
  EXPECT_EQ(calls_.call({.n = 4}), 0);
}

TEST_F(CombinedCallsUnderWayTest, WhatDoesNotFitGoesInAnotherCall) {
  std::multiset<int> answers;
  const std::vector<Parcel> late(3, Parcel{.n = 4});
  EXPECT_EQ(sent_of(late, answers), (std::multiset<Sizes>{{4, 4}, {4}}));
  EXPECT_EQ(answers, (std::multiset<int>{0, 0, 1}));
}

TEST(CombinedCallsTest, AFailureIsTheCallers) {
  Calls calls(kSizeMax, [](std::span<const Parcel* const>) -> Calls::Answers {
    return {fail(ErrorCode::kStoreUnavailable, "gone")};
  });
  const auto answer = calls.call({.n = 1});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kStoreUnavailable);
}

}  // namespace
}  // namespace drover::redis
