#include "core/spec_check.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover {
namespace {

TEST(CheckLeaseLength, TakesWhatQueuesGive) {
  EXPECT_TRUE(check_lease_length(kLeaseMin).has_value());
  EXPECT_TRUE(check_lease_length(kLeaseMax).has_value());
  for (const Millis lease : {Millis{0}, kLeaseMin - Millis{1}, kLeaseMax + Millis{1}}) {
    const Status refused = check_lease_length(lease);
    ASSERT_EQ(test::code_of(refused), ErrorCode::kInvalidArgument) << lease.count();
    EXPECT_NE(refused.error().message.find("between 100ms and 1d"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace drover
