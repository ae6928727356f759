#include "base/only_item.h"

#include <gtest/gtest.h>

#include <string>

#include "support/must.h"

namespace drover {
namespace {

using Texts = std::vector<std::string>;

TEST(OnlyItemTest, IsTheItemOrTheError) {
  EXPECT_EQ(test::must(only_item(Result<Texts>(Texts{"one"}))), "one");
  EXPECT_EQ(test::code_of(only_item(Result<Texts>(fail(ErrorCode::kNotFound, "none")))), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace drover
