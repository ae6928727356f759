#include "server/ticket_booth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::server {
namespace {

using test::must;

class TicketBoothTest : public ::testing::Test {
 protected:
  SeededRng rng_{1};
  TicketBooth booth_{rng_};
  MonoTime now_{Millis{1'000}};
};

TEST_F(TicketBoothTest, ATicketWorksOnce) {
  const std::string ticket = must(booth_.issue("anna", now_));
  EXPECT_FALSE(booth_.redeem("", now_));
  EXPECT_FALSE(booth_.redeem(ticket.substr(1), now_));
  EXPECT_EQ(booth_.redeem(ticket, now_), "anna");
  EXPECT_FALSE(booth_.redeem(ticket, now_));
}

TEST_F(TicketBoothTest, ATicketEnds) {
  const std::string ticket = must(booth_.issue("anna", now_));
  const std::string other = must(booth_.issue("ben", now_));
  EXPECT_EQ(booth_.redeem(ticket, now_ + (kTicketKept - Millis{1})), "anna");
  EXPECT_FALSE(booth_.redeem(other, now_ + kTicketKept));
}

TEST_F(TicketBoothTest, NobodyTakesAllOfThem) {
  const std::string bens = must(booth_.issue("ben", now_));
  const std::string first = must(booth_.issue("anna", now_));
  std::string last;
  for (std::size_t i = 0; i < kTicketsOfCallerMax; ++i) last = must(booth_.issue("anna", now_));
  EXPECT_FALSE(booth_.redeem(first, now_)) << "the oldest of one's own makes room";
  EXPECT_EQ(booth_.redeem(last, now_), "anna");
  EXPECT_EQ(booth_.redeem(bens, now_), "ben");
}

TEST_F(TicketBoothTest, ThereIsABound) {
  for (std::size_t i = 0; i < kTicketsMax; ++i) must(booth_.issue(fmt::format("caller {}", i), now_));
  const auto refused = booth_.issue("one more", now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(booth_.issue("one more", now_ + kTicketKept));
}

}  // namespace
}  // namespace drover::server
