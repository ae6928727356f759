// The output of a run is kept in pieces, so that the tail can be dropped in small steps. One rule for every store.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

// How large a piece may be when half of the cap is `half`.
[[nodiscard]] std::int64_t log_piece_bytes_max(std::int64_t half);
// At most `bytes` of the text, without cutting a character in two; at least one byte, so that it always moves on.
[[nodiscard]] std::string_view log_piece(std::string_view text, std::int64_t bytes);

}  // namespace drover
