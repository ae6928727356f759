#include "cli/document_diff.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::cli {
namespace {

std::vector<Difference> diff(std::string_view before, std::string_view after) {
  return differences(test::must(json::parse(before)), test::must(json::parse(after)));
}

TEST(DocumentDiffTest, NamesWhatCameWentAndChanged) {
  EXPECT_EQ(diff(R"({"types":{"a":{"priority":2,"timeout":"1m"}},"limits":{"depth":3}})",
                 R"({"types":{"a":{"priority":5,"timeout":"1m"},"b":{"queue":"q"}}})"),
            (std::vector<Difference>{
                {"limits.depth", "3", ""}, {"types.a.priority", "2", "5"}, {"types.b.queue", "", "\"q\""}}));
}

TEST(DocumentDiffTest, ListsAndEmptyObjectsAreComparedAsAWhole) {
  EXPECT_EQ(diff(R"({"types":{"a":{}}})", R"({"types":{"a":{"tags":[1,2]}}})"),
            (std::vector<Difference>{{"types.a", "{}", ""}, {"types.a.tags", "", "[1,2]"}}));
  EXPECT_TRUE(diff("{}", "{}").empty());
  EXPECT_TRUE(diff(R"({"a":1,"b":2})", R"({"b":2,"a":1})").empty());
}

}  // namespace
}  // namespace drover::cli
