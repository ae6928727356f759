// The output of a run is kept in pieces, so that the tail can be dropped in small steps. One rule for every store.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "core/dump.h"

namespace drover {

// How large a piece may be when half of the cap is `half`.
[[nodiscard]] std::int64_t log_piece_bytes_max(std::int64_t half);
// At most `bytes` of the text, without cutting a character in two; at least one byte, so that it always moves on.
[[nodiscard]] std::string_view log_piece(std::string_view text, std::int64_t bytes);

// What a store keeps beside the pieces of one run.
struct LogTotal {
  std::int64_t last_number = 0;
  std::int64_t tail_number = 0;  // of the first piece behind what was left out; 0 while nothing was
  std::int64_t head_bytes = 0;
  std::int64_t tail_bytes = 0;
  std::int64_t left_out_bytes = 0;
};
// Of each run of a dumped task that has output.
[[nodiscard]] std::map<int, LogTotal> log_totals(const DumpedTask& task);

}  // namespace drover
