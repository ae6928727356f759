#include "core/log_remark.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

TEST(LogRemark, CountsWhatItStandsFor) {
  EXPECT_EQ(left_out_remark(123'456), "[123456 bytes of output left out here]\n");
  EXPECT_EQ(output_bytes(LogStream::kDrover, left_out_remark(123'456)), 123'456);
}

TEST(LogRemark, OnlyItsOwnFormCounts) {
  const std::string remark = left_out_remark(9);
  EXPECT_EQ(output_bytes(LogStream::kOut, remark), static_cast<std::int64_t>(remark.size())) << "an agent's own line";
  for (const std::string text :
       {"[x bytes of output left out here]\n", "[-1 bytes of output left out here]\n",
        "[1x bytes of output left out here]\n", "[99999999999999999999 bytes of output left out here]\n",
        "1 bytes of output left out here]\n", "[9 bytes", ""}) {
    EXPECT_EQ(output_bytes(LogStream::kDrover, text), static_cast<std::int64_t>(text.size())) << text;
  }
}

}  // namespace
}  // namespace drover::test
