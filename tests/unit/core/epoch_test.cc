// What a store has lost follows from its list of epochs and from what was seen.
#include "core/epoch.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

using enum Epoch::Cause;

// Epochs 1 to 3; the store is at event 90.
StoreExtent extent() {
  return {.epochs = {{1, "a", 0, kCreated}, {2, "b", 30, kRestarted}, {3, "c", 60, kRestarted}}, .seq = 90};
}

struct Case {
  const char* name;
  Mark seen;
  std::optional<Loss> loss;
};

class FindLoss : public ::testing::TestWithParam<Case> {};

TEST_P(FindLoss, FollowsFromTheEpochs) {
  const auto loss = find_loss(extent(), GetParam().seen);
  EXPECT_EQ(loss.has_value(), GetParam().loss.has_value());
  if (loss && GetParam().loss) {
    EXPECT_EQ(to_string(*loss), to_string(*GetParam().loss));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FindLoss,
    ::testing::Values(Case{"NothingSeen", {}, {}}, Case{"UpToDate", {3, "c", 90}, {}},
                      Case{"BehindTheStore", {3, "c", 61}, {}}, Case{"AheadOfIt", {3, "c", 91}, Loss{91, 91}},
                      Case{"TheEpochEndedWhereItWasSeen", {2, "b", 60}, {}},
                      // Others have written more than was lost before we looked: the epoch tells all the same.
                      Case{"TheEpochEndedBefore", {2, "b", 75}, Loss{61, 75}}, Case{"OlderEpochs", {1, "a", 30}, {}},
                      Case{"OlderEpochsEnd", {1, "a", 33}, Loss{31, 33}},
                      Case{"AnEpochThatIsGone", {4, "x", 120}, Loss{91, 120}},
                      Case{"AnEpochThatIsReplaced", {3, "x", 70}, Loss{61, 70}},
                      Case{"AnotherStoreAltogether", {1, "x", 5'000}, Loss{1, 5'000}},
                      Case{"NothingHadHappenedInTheReplacedOne", {3, "x", 60}, {}}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(FindLossOfOld, AnEpochThatIsNotListedAnyMoreIsJudgedByTheNumberAlone) {
  StoreExtent late = extent();
  late.epochs.erase(late.epochs.begin());
  EXPECT_FALSE(find_loss(late, {1, "a", 90}));
  EXPECT_TRUE(find_loss(late, {1, "a", 91}));
}

TEST(FindLossOfOld, AStoreThatBeganAnewHasNothingOfIt) {
  const StoreExtent anew{.epochs = {{4, "n", 0, kCreated}, {5, "o", 7, kRestarted}}, .seq = 90};
  EXPECT_EQ(to_string(find_loss(anew, {3, "c", 60}).value_or(Loss{})), "events 1 to 60");
}

TEST(Accepted, IsWhatHasALaterAcceptedEpoch) {
  StoreExtent accepted = extent();
  EXPECT_FALSE(is_accepted(accepted, {2, "b", 75}));
  accepted.epochs[2].cause = kAccepted;
  EXPECT_TRUE(is_accepted(accepted, {2, "b", 75}));
  EXPECT_TRUE(find_loss(accepted, {2, "b", 75}));
  EXPECT_FALSE(is_accepted(accepted, {3, "x", 75})) << "it was accepted before";
}

TEST(EpochCause, HasAName) {
  for (const Epoch::Cause cause : {kCreated, kRestarted, kRegressed, kAccepted}) {
    EXPECT_EQ(parse_epoch_cause(name_of(cause)), cause);
  }
  EXPECT_EQ(parse_epoch_cause("x"), std::nullopt);
}

TEST(Acceptance, TellsWhatWasLost) {
  EXPECT_EQ(acceptance_data(Loss{3, 5}), R"({"lost_from":3,"lost_to":5})");
  EXPECT_EQ(acceptance_data(std::nullopt), "{}");
  EXPECT_EQ(to_string(Loss{3, 5}), "events 3 to 5");
  EXPECT_EQ(to_string(Loss{3, 3}), "event 3");
}

TEST(StoreMark, IsTextAndBack) {
  const StoreMark mark{"0f", {7, "ab12", 5012}};
  EXPECT_EQ(to_string(mark), "0f:ab12:7:5012");
  EXPECT_EQ(parse_store_mark(to_string(mark)), mark);
}

TEST(StoreMark, WhatIsNoneIsNotTaken) {
  for (const char* text :
       {"", ":", "0f", "0f:ab:7", "0f:ab:7:", "0f:ab:0:1", "0f:ab:-1:1", "0f:ab:7:-1", "0f:ab:7:1:2", "../f:ab:7:1",
        "0F:ab:7:1", ":ab:7:1", "0f::7:1", "0f:ab:7:99999999999999999999", "0123456789abcdef0:ab:7:1", "0f:ab:7:1 "}) {
    EXPECT_EQ(parse_store_mark(text), std::nullopt) << text;
  }
}

TEST(StoreMark, TellsOfALossOfThisStoreOnly) {
  EXPECT_TRUE(reveals_loss(extent(), {"a", {3, "c", 91}}));
  EXPECT_FALSE(reveals_loss(extent(), {"a", {3, "c", 90}}));
  EXPECT_TRUE(reveals_loss(extent(), {"a", {4, "d", 91}})) << "an epoch that is gone with what was in it";
  EXPECT_TRUE(reveals_loss(extent(), {"e", {2, "b", 75}})) << "an epoch that it knows";
  EXPECT_FALSE(reveals_loss(extent(), {"e", {4, "d", 91}})) << "another store";
  StoreExtent accepted = extent();
  accepted.epochs.push_back({4, "d", 90, kAccepted});
  EXPECT_FALSE(reveals_loss(accepted, {"a", {3, "c", 91}}));
}

}  // namespace
}  // namespace drover::test
