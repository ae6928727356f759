#include "mcp/clean_text.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::mcp {
namespace {

TEST(McpCleanText, LeavesWhatIsReadAndTakesWhatSteers) {
  EXPECT_EQ(clean_text("plain\n\ttext é 漢 🙂"), "plain\n\ttext é 漢 🙂");
  EXPECT_EQ(clean_text("a\x1b[31mred\x07\r\b"), "a[31mred");
  EXPECT_EQ(clean_text(std::string("nul\0l", 5)), "null");
  EXPECT_EQ(clean_text("c1\xc2\x9b"
                       "31m"),
            "c131m");
  EXPECT_EQ(clean_text("turn\xe2\x80\xae"
                       "ed \xe2\x81\xa6in\xe2\x81\xa9 \xe2\x80\x8fr"),
            "turned in r");
  EXPECT_EQ(clean_text("\xff"), "\xef\xbf\xbd");
}

TEST(McpCleanText, ReachesEveryStringOfAValue) {
  const auto value = test::must(json::parse(R"({"a\u001b":["\u0007x",{"k":"\u202ey"}],"n":1.10,"a":null})"));
  EXPECT_EQ(json::dump(clean_value(value)), R"({"a":["x",{"k":"y"}],"n":1.10,"a_":null})");
}

TEST(McpCleanText, CutsBetweenCharacters) {
  EXPECT_EQ(first_bytes("aé", 2), "a");
  EXPECT_EQ(first_bytes("aé", 3), "aé");
  EXPECT_EQ(last_bytes("éa", 2), "a");
  EXPECT_EQ(last_bytes("éa", 3), "éa");
  EXPECT_EQ(last_bytes("abc", 0), "");
  EXPECT_EQ(short_text("abcdef", 4), "abcd… [2 more bytes]");
}

}  // namespace
}  // namespace drover::mcp
