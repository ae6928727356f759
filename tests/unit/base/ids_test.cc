#include "drover/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

#include "base/rng.h"

namespace drover {
namespace {

constexpr std::string_view kUuid = "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d";

TEST(TaskIdTest, ParsesTheCanonicalFormInEitherCase) {
  const auto id = TaskId::parse(kUuid);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->to_string(), kUuid);
  EXPECT_EQ(id->bytes()[0], 0x01);
  EXPECT_EQ(id->bytes()[15], 0x9d);
  EXPECT_EQ(TaskId::parse("0193300D-2B6B-7C4F-8A1E-00FF10AB5C9D"), id);
}

TEST(TaskIdTest, AcceptsUuidsOfOtherVersions) {
  EXPECT_TRUE(TaskId::parse("f47ac10b-58cc-4372-a567-0e02b2c3d479").has_value());
  EXPECT_TRUE(TaskId::parse("ffffffff-ffff-ffff-ffff-ffffffffffff").has_value());
}

TEST(TaskIdTest, RefusesEverythingElse) {
  for (const std::string_view text : {
           "",
           "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9",
           "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d0",
           "0193300d2b6b7c4f8a1e00ff10ab5c9d",
           "{0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d}",
           "0193300d-2b6b-7c4f-8a1e00ff10-ab5c9d",
           "0193300d_2b6b_7c4f_8a1e_00ff10ab5c9d",
           "0193300g-2b6b-7c4f-8a1e-00ff10ab5c9d",
           "0193300d-2b6b-7c4f-8a1e-00ff10ab5c9 ",
           "-193300d-2b6b-7c4f-8a1e-00ff10ab5c9d",
           "00000000-0000-0000-0000-000000000000",
       }) {
    EXPECT_EQ(TaskId::parse(text), std::nullopt) << text;
  }
}

TEST(TaskIdTest, DefaultIsNil) {
  EXPECT_TRUE(TaskId().is_nil());
  EXPECT_FALSE(TaskId::parse(kUuid)->is_nil());
  EXPECT_EQ(TaskId().to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(TaskIdTest, HashSpreadsIdsThatDifferInOneBit) {
  std::unordered_set<std::size_t> low_bits;
  std::size_t ids = 0;
  for (std::size_t bit = 0; bit < 128; ++bit) {
    TaskId::Bytes bytes{};
    bytes[bit / 8] = static_cast<std::uint8_t>(1U << (bit % 8));
    low_bits.insert(std::hash<TaskId>{}(TaskId(bytes)) & 0xFFFFF);
    ++ids;
  }
  EXPECT_GE(low_bits.size(), ids - 1);
}

TEST(LeaseIdTest, RoundTripsAsHex) {
  constexpr std::string_view kHex = "00112233445566778899aabbccddeeff";
  const auto id = LeaseId::parse(kHex);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->to_string(), kHex);
  EXPECT_EQ(LeaseId::parse("00112233445566778899AABBCCDDEEFF"), id);
  EXPECT_FALSE(id->is_none());
}

TEST(LeaseIdTest, ZeroMeansNone) {
  EXPECT_TRUE(LeaseId().is_none());
  EXPECT_EQ(LeaseId::parse(LeaseId().to_string()), LeaseId());
}

TEST(LeaseIdTest, RefusesOtherLengthsAndDigits) {
  for (const std::string_view text : {"", "00", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefff",
                                      "00112233445566778899aabbccddeefg", "0x112233445566778899aabbccddeeff"}) {
    EXPECT_EQ(LeaseId::parse(text), std::nullopt) << text;
  }
}

TEST(NewTaskIdTest, HasTheLayoutOfUuidVersion7) {
  SeededRng rng(1);
  const Time now{Millis{0x0193300d2b6b}};
  for (int i = 0; i < 100; ++i) {
    const TaskId id = new_task_id(rng, now);
    EXPECT_EQ(id.to_string().substr(0, 15), "0193300d-2b6b-7");
    EXPECT_EQ(id.bytes()[8] >> 6, 2);
    EXPECT_EQ(TaskId::parse(id.to_string()), id);
  }
}

TEST(NewTaskIdTest, ManyAtOnceAscendAndAreLikeAnyOther) {
  SeededRng rng(5);
  const Time now{Millis{0x0193300D2B6B}};
  const std::vector<TaskId> ids = new_task_ids(rng, now, 2'000);
  ASSERT_EQ(ids.size(), 2'000U);
  EXPECT_EQ(std::ranges::adjacent_find(ids, std::greater_equal()), ids.end());
  TaskId::Bytes ever_one{};
  TaskId::Bytes ever_zero{};
  for (const TaskId& id : ids) {
    EXPECT_EQ(id.to_string().substr(0, 15), "0193300d-2b6b-7");
    for (std::size_t i = 0; i < ever_one.size(); ++i) {
      ever_one[i] |= id.bytes()[i];
      ever_zero[i] |= static_cast<std::uint8_t>(~id.bytes()[i]);
    }
  }
  // 12 random bits, the variant, 62 random bits.
  for (std::size_t i = 6; i < ever_one.size(); ++i) {
    const int fixed = i == 6 ? 0xF0 : i == 8 ? 0xC0 : 0;
    EXPECT_EQ(ever_one[i] | fixed, 0xFF) << i;
    EXPECT_EQ(ever_zero[i] | fixed, 0xFF) << i;
  }
  EXPECT_EQ(ids.front().bytes()[8] >> 6, 2);
  EXPECT_TRUE(new_task_ids(rng, now, 0).empty());
}

TEST(NewTaskIdTest, AllRandomBitsVary) {
  SeededRng rng(2);
  TaskId::Bytes ever_one{};
  TaskId::Bytes ever_zero{};
  for (int i = 0; i < 200; ++i) {
    const TaskId id = new_task_id(rng, Time{Millis{0}});
    for (std::size_t b = 0; b < 16; ++b) {
      ever_one[b] |= id.bytes()[b];
      ever_zero[b] |= static_cast<std::uint8_t>(~id.bytes()[b]);
    }
  }
  const TaskId varying = [&] {
    TaskId::Bytes both{};
    for (std::size_t b = 0; b < 16; ++b) both[b] = ever_one[b] & ever_zero[b];
    return TaskId(both);
  }();
  EXPECT_EQ(varying.to_string(), "00000000-0000-0fff-3fff-ffffffffffff");
}

TEST(NewTaskIdTest, SortsByTheTimeItWasMade) {
  SeededRng rng(3);
  TaskId before = new_task_id(rng, Time{Millis{1'000}});
  for (std::int64_t ms = 1'001; ms < 2'000'000'000'000; ms = ms * 3 / 2) {
    const TaskId id = new_task_id(rng, Time{Millis{ms}});
    EXPECT_LT(before, id) << ms;
    EXPECT_LT(before.to_string(), id.to_string()) << ms;
    before = id;
  }
}

TEST(NewTaskIdTest, AClockOutsideTheRangeIsHeldAtItsEnds) {
  SeededRng rng(4);
  EXPECT_EQ(new_task_id(rng, Time{Millis{-5}}).to_string().substr(0, 13), "00000000-0000");
  EXPECT_EQ(new_task_id(rng, Time::max()).to_string().substr(0, 13), "ffffffff-ffff");
}

TEST(NewLeaseIdTest, IsRandomThroughout) {
  SeededRng rng(5);
  LeaseId::Bytes ever_one{};
  for (int i = 0; i < 100; ++i) {
    const LeaseId id = new_lease_id(rng);
    for (std::size_t b = 0; b < 16; ++b) ever_one[b] |= id.bytes()[b];
  }
  EXPECT_EQ(LeaseId(ever_one).to_string(), "ffffffffffffffffffffffffffffffff");
}

}  // namespace
}  // namespace drover
