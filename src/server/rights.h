// Who may do what: one table, and deny by default.
#pragma once

#include "engine/token_document.h"

namespace drover::server {

enum class Right : std::uint8_t { kRead, kProduce, kWork, kReadPolicy, kOperate, kAdminister };

// kForbidden if the role does not allow it.
[[nodiscard]] Status need(const Principal& principal, Right right);

}  // namespace drover::server
