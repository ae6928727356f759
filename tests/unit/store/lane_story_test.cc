// Lanes and gates against the naive model, in random stories.
#include <gtest/gtest.h>

#include "support/lane_story.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

class LaneStory : public ::testing::TestWithParam<int> {};

TEST_P(LaneStory, TheStoreAnswersAsTheModelDoes) {
  StoreUnderTest sut;
  const auto wrong = tell_lane_story(sut.store(), sut.clock(), static_cast<std::uint64_t>(GetParam()), 500);
  EXPECT_FALSE(wrong.has_value()) << *wrong << "; seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaneStory, ::testing::Range(1, 31));

}  // namespace
}  // namespace drover::test
