#include "core/role.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(RoleTest, NamesAreReadBack) {
  for (std::size_t i = 0; i < kRoleCount; ++i) {
    const auto role = static_cast<Role>(i);
    EXPECT_EQ(parse_role(name_of(role)), role);
  }
  EXPECT_EQ(name_of(Role::kAdmin), "admin");
  EXPECT_EQ(parse_role("root"), std::nullopt);
}

}  // namespace
}  // namespace drover
