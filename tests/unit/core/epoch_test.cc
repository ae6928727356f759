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

TEST(FindLossOfOld, AnEpochThatIsNotListedAnyMoreEndedWhereTheNextOneBegins) {
  StoreExtent late = extent();
  late.epochs.erase(late.epochs.begin() + 1);
  EXPECT_FALSE(find_loss(late, {2, "b", 60}));
  EXPECT_TRUE(find_loss(late, {2, "b", 61}));
}

TEST(FindLossOfOld, AStoreThatBeganAnewHasNothingOfIt) {
  const StoreExtent anew{.epochs = {{4, "n", 0, kCreated}, {5, "o", 7, kRestarted}}, .seq = 90};
  EXPECT_EQ(to_string(find_loss(anew, {3, "c", 60}).value_or(Loss{})), "events 1 to 60");
}

// ---- a dump of the store of extent(), in a store that had epochs of its own and two events

std::vector<Epoch> own_epochs() {
  return {{1, "d", 0, kCreated}, {9, "e", 1, kRegressed}};
}

StoreExtent joined_extent() {
  StoreExtent joined{.epochs = join_epochs(extent(), own_epochs()), .seq = 92};
  joined.epochs.push_back({joined.epochs.back().number + 1, "f", joined.seq, kRestored});
  return joined;
}

TEST(JoinedEpochs, AreTheDumpsThenTheStoresOwn) {
  EXPECT_EQ(joined_extent().epochs, (std::vector<Epoch>{{1, "a", 0, kCreated},
                                                        {2, "b", 30, kRestarted},
                                                        {3, "c", 60, kRestarted},
                                                        {4, "d", 90, kCreated},
                                                        {9, "e", 91, kRegressed},
                                                        {10, "f", 92, kRestored}}));
}

TEST(JoinedEpochs, TellWhoSawMoreThanTheDumpHas) {
  EXPECT_TRUE(reveals_loss(joined_extent(), {"a", {3, "c", 91}})) << "events of the store before do not hide it";
  EXPECT_FALSE(reveals_loss(joined_extent(), {"a", {3, "c", 90}}));
  EXPECT_TRUE(reveals_loss(joined_extent(), {"a", {4, "x", 95}})) << "an epoch after the dump";
}

TEST(JoinedEpochs, HaveNothingLostOfTheStoreThatTookTheDump) {
  EXPECT_FALSE(find_loss(joined_extent(), {1, "d", 1}));
  EXPECT_FALSE(find_loss(joined_extent(), {9, "e", 92})) << "as seen just before the end of the import";
}

TEST(JoinedEpochs, ADumpOfTheStoreItselfAddsNone) {
  EXPECT_EQ(join_epochs(extent(), extent().epochs), extent().epochs);
}

TEST(SoundExtent, IsOneThatAStoreCouldHave) {
  EXPECT_TRUE(check_extent(extent()));
  const auto is_refused = [](auto change) {
    StoreExtent changed = extent();
    change(changed);
    return !check_extent(changed);
  };
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs.clear(); }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs.resize(1'002); }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs[0].id = "../x"; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs[1].number = 1; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs[2].number = std::int64_t{1} << 62; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs[2].after = -1; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.epochs[2].after = std::int64_t{1} << 62; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.seq = -1; }));
  EXPECT_TRUE(is_refused([](StoreExtent& one) { one.seq = std::int64_t{1} << 62; }));
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
  for (const Epoch::Cause cause : {kCreated, kRestarted, kRegressed, kAccepted, kRestored}) {
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
