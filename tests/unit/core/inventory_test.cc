// What a store was given and has no more.
#include "core/inventory.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

std::vector<std::string> missing(const Inventory& inventory) {
  std::vector<std::string> texts;
  for (const Finding& finding : find_missing(inventory)) texts.push_back(finding.code + ": " + finding.detail);
  return texts;
}

const std::vector<std::string> kNothing;

TEST(Missing, NothingOfAnEmptyStoreNorOfAWholeOne) {
  EXPECT_EQ(missing({}), kNothing);
  EXPECT_EQ(
      missing(
          {.policy = {3, true}, .access_tokens = {1, true}, .first_event = 5, .last_event = 9, .first_event_there = 5}),
      kNothing);
}

TEST(Missing, EventsThatRetentionTookAreNot) {
  EXPECT_EQ(missing({.first_event = 10, .last_event = 9}), kNothing);
  EXPECT_EQ(missing({.first_event = 5, .last_event = 9, .first_event_there = 4}), kNothing) << "not yet trimmed";
}

TEST(Missing, EachIsNamed) {
  EXPECT_EQ(missing({.policy = {3, false},
                     .access_tokens = {1, false},
                     .first_event = 5,
                     .last_event = 9,
                     .first_event_there = 7}),
            (std::vector<std::string>{
                "policy_missing: the policy is gone (version 3); apply it again: drover config apply FILE",
                "access_tokens_missing: the access tokens are gone (version 1); create new ones: drover token create",
                "events_missing: events 5 to 6 are gone"}));
  EXPECT_EQ(missing({.last_event = 2}), std::vector<std::string>{"events_missing: events 1 to 2 are gone"});
}

}  // namespace
}  // namespace drover::test
