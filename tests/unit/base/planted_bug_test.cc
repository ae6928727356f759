#include "base/planted_bug.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace drover {
namespace {

TEST(PlantedBugTest, OneAtATime) {
  EXPECT_TRUE(planted(PlantedBug::kNone));
  plant(PlantedBug::kAckBeforeCommit);
  EXPECT_TRUE(planted(PlantedBug::kAckBeforeCommit));
  EXPECT_FALSE(planted(PlantedBug::kSettleIgnoresLease));
  plant(PlantedBug::kNone);
  EXPECT_FALSE(planted(PlantedBug::kAckBeforeCommit));
}

TEST(PlantedBugTest, EveryOneHasItsOwnName) {
  std::set<std::string_view> names;
  const auto last = static_cast<std::uint8_t>(PlantedBug::kReleaseLosesPlace);
  for (std::uint8_t i = 0; i <= last; ++i) {
    const std::string_view name = name_of(static_cast<PlantedBug>(i));
    EXPECT_TRUE(is_name(name)) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(PlantedBug::kNone), "none");
  EXPECT_EQ(name_of(PlantedBug::kAtMostOnceRerun), "at_most_once_rerun");
}

}  // namespace
}  // namespace drover
