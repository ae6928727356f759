#include "server/rights.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace drover::server {
namespace {

using RightsOfRole = std::array<bool, kAllRights.size()>;
// In the order of Role; columns in the order of Right: read, produce, work, read_policy, operate, administer.
constexpr std::array<RightsOfRole, kRoleCount> kRights{{
    {true, false, false, false, false, false},  // viewer
    {true, true, false, true, false, false},    // producer
    {false, false, true, true, false, false},   // worker
    {true, true, true, true, true, false},      // operator
    {true, true, true, true, true, true},       // admin
}};

}  // namespace

std::string_view name_of(Right right) {
  constexpr std::array<std::string_view, kAllRights.size()> kNames{"read",        "produce", "work",
                                                                   "read_policy", "operate", "administer"};
  return kNames[static_cast<std::size_t>(std::to_underlying(right))];
}

Status need(const Principal& principal, Right right) {
  const auto role = static_cast<std::size_t>(std::to_underlying(principal.role));
  if (kRights[role][static_cast<std::size_t>(std::to_underlying(right))]) return {};
  return drover::fail(ErrorCode::kForbidden,
                      fmt::format("a token of the role {} may not do this", name_of(principal.role)));
}

}  // namespace drover::server
