// Who may do what: one table, and deny by default.
#pragma once

#include <array>
#include <string_view>

#include "engine/token_document.h"

namespace drover::server {

enum class Right : std::uint8_t { kRead, kProduce, kWork, kReadPolicy, kOperate, kAdminister };
inline constexpr std::array kAllRights{Right::kRead,       Right::kProduce, Right::kWork,
                                       Right::kReadPolicy, Right::kOperate, Right::kAdminister};
[[nodiscard]] std::string_view name_of(Right right);

// kForbidden if the role does not allow it.
[[nodiscard]] Status need(const Principal& principal, Right right);

}  // namespace drover::server
