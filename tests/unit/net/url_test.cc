#include "net/url.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Url, PathAndQueryAreDecoded) {
  const auto target = parse_target("/v1/tasks/a%2Fb?state=failed&tag=x+y%26z&empty");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, (std::vector<std::string>{"v1", "tasks", "a/b"}));
  ASSERT_EQ(target->query.size(), 3U);
  EXPECT_EQ(target->query[0], (std::pair<std::string, std::string>{"state", "failed"}));
  EXPECT_EQ(target->query[1], (std::pair<std::string, std::string>{"tag", "x y&z"}));
  EXPECT_EQ(target->query[2], (std::pair<std::string, std::string>{"empty", ""}));
}

TEST(Url, APlusInThePathIsAPlus) {
  EXPECT_EQ(parse_target("/a+b")->path, std::vector<std::string>{"a+b"});
}

TEST(Url, WhatIsNotWellFormedIsRefused) {
  for (const char* bad : {"", "v1", "/%", "/%4", "/%zz", "/%ff", "/x?a=%c3"}) EXPECT_FALSE(parse_target(bad)) << bad;
}

TEST(Url, EncodingComesBack) {
  const std::string text = "host:1:ä b/c?&=+%";
  EXPECT_EQ(percent_decode(percent_encode(text)), text);
  EXPECT_EQ(percent_encode("a-b.c_d~9"), "a-b.c_d~9");
}

}  // namespace
}  // namespace drover
