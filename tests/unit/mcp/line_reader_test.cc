#include "mcp/line_reader.h"

#include <gtest/gtest.h>

namespace drover::mcp {
namespace {

using Lines = std::vector<std::optional<std::string>>;

TEST(McpLines, AreCutWhereverTheBytesEnd) {
  LineCutter cutter(100);
  EXPECT_EQ(cutter.add("on"), Lines{});
  EXPECT_EQ(cutter.add("e\n\n \r\ntwo\nth"), (Lines{"one", "two"}));
  EXPECT_EQ(cutter.rest(), "th");
  EXPECT_EQ(cutter.rest(), std::nullopt);
}

TEST(McpLines, TooLongOnesArePassedOverAndTold) {
  LineCutter cutter(4);
  EXPECT_EQ(cutter.add("12345"), Lines{});
  EXPECT_EQ(cutter.add("67890"), Lines{});
  EXPECT_EQ(cutter.add("\nok\n1234\n12345\n"), (Lines{std::nullopt, "ok", "1234", std::nullopt}));
  EXPECT_EQ(cutter.add("123456"), Lines{});
  EXPECT_EQ(cutter.rest(), std::nullopt);
}

}  // namespace
}  // namespace drover::mcp
