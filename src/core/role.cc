#include "core/role.h"

#include "core/names.h"

namespace drover {

namespace {

constexpr Names<kRoleCount> kRoleNames{"viewer", "producer", "worker", "operator", "admin"};

}  // namespace

std::string_view name_of(Role role) {
  return name_in(kRoleNames, role);
}

std::optional<Role> parse_role(std::string_view name) {
  return value_in<Role>(kRoleNames, name);
}

}  // namespace drover
