#include "base/rng.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

namespace drover {
namespace {

TEST(SeededRngTest, GivesThePublishedSequence) {
  // xoshiro256** after splitmix64 from 0, as its authors' C code gives it.
  SeededRng rng(0);
  EXPECT_EQ(rng.next(), 0x99EC5F36CB75F2B4U);
  EXPECT_EQ(rng.next(), 0xBF6E1F784956452AU);
  EXPECT_EQ(rng.next(), 0x1A5F849D4933E6E0U);
  EXPECT_EQ(rng.next(), 0x6AA594F1262D2D2CU);
}

TEST(SeededRngTest, SameSeedSameSequenceOtherSeedAnother) {
  SeededRng a(42);
  SeededRng b(42);
  SeededRng c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs = differs || value != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(RngTest, BelowStaysBelowAndReachesEveryValue) {
  SeededRng rng(1);
  for (const std::uint64_t bound : {1U, 2U, 3U, 7U, 10U, 64U}) {
    std::vector<int> hits(bound);
    for (std::uint64_t i = 0; i < bound * 1000; ++i) {
      const std::uint64_t value = rng.below(bound);
      ASSERT_LT(value, bound);
      ++hits[value];
    }
    for (const int count : hits) EXPECT_NEAR(count, 1000, 150) << bound;
  }
}

// Hands out a fixed list, to show which draws are thrown away.
class ListRng final : public Rng {
 public:
  explicit ListRng(std::vector<std::uint64_t> values) : values_(std::move(values)) {}
  std::uint64_t next() override { return values_.at(used_++); }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> values_;
  std::size_t used_ = 0;
};

TEST(RngTest, BelowThrowsAwayTheSurplus) {
  // 2^64 mod 3 is 1: exactly one value, 0, is surplus.
  ListRng rng({0, 0, 5});
  EXPECT_EQ(rng.below(3), 2U);
  EXPECT_EQ(rng.used(), 3U);
  // A power of two divides 2^64: nothing is thrown away.
  ListRng exact({0});
  EXPECT_EQ(exact.below(std::uint64_t{1} << 63), 0U);
}

TEST(RngTest, UnitIsFromZeroToJustBelowOne) {
  ListRng ends({0, ~std::uint64_t{0}});
  EXPECT_EQ(ends.unit(), 0.0);
  EXPECT_LT(ends.unit(), 1.0);
  SeededRng rng(9);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) sum += rng.unit();
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RngDeathTest, BelowZeroIsABug) {
  SeededRng rng(1);
  EXPECT_DEATH(static_cast<void>(rng.below(0)), "CHECK failed.*bound > 0");
}

TEST(SystemRngTest, NeverRepeatsAcrossBuffersAndThreads) {
  std::array<std::vector<std::uint64_t>, 4> drawn;
  {
    std::vector<std::jthread> threads;
    for (auto& values : drawn) {
      threads.emplace_back([&values] {
        for (int i = 0; i < 1000; ++i) values.push_back(system_rng().next());
      });
    }
  }
  std::set<std::uint64_t> distinct;
  for (const auto& values : drawn) distinct.insert(values.begin(), values.end());
  EXPECT_EQ(distinct.size(), 4000U);
}

TEST(SystemRngTest, AForkedChildDrawsItsOwnValues) {
  static_cast<void>(system_rng().next());  // the buffer is partly used, the rest would be the child's as well
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t value = system_rng().next();
    ::_exit(::write(pipe_ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  std::uint64_t theirs = 0;
  ASSERT_EQ(::read(pipe_ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  for (int i = 0; i < 64; ++i) EXPECT_NE(system_rng().next(), theirs);
}

}  // namespace
}  // namespace drover
