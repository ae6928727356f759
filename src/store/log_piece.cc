#include "store/log_piece.h"

#include <algorithm>

namespace drover {
namespace {

// The tail is dropped piece by piece: small ones keep it near its half of the cap.
constexpr std::int64_t kPieceBytesMin = 256;
constexpr std::int64_t kPieceBytesMax = 16 << 10;

}  // namespace

std::int64_t log_piece_bytes_max(std::int64_t half) {
  return std::min(half, std::clamp(half / 8, kPieceBytesMin, kPieceBytesMax));
}

std::string_view log_piece(std::string_view text, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (text.size() <= size) return text;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  std::size_t cut = size;
  while (cut > 0 && size - cut < 3 && is_inside(cut)) --cut;
  return text.substr(0, cut == 0 || is_inside(cut) ? size : cut);
}

std::map<int, LogTotal> log_totals(const DumpedTask& task) {
  std::map<int, LogTotal> totals;
  for (const LogRecord& piece : task.log) {
    LogTotal& total = totals[piece.run];
    const bool behind_a_hole = total.last_number != 0 && piece.seq != total.last_number + 1;
    if (total.tail_number == 0 && behind_a_hole) total.tail_number = piece.seq;
    total.last_number = piece.seq;
    (total.tail_number == 0 ? total.head_bytes : total.tail_bytes) += static_cast<std::int64_t>(piece.text.size());
  }
  for (auto& [run, total] : totals) {
    const auto left_out = task.left_out.find(run);
    if (left_out != task.left_out.end()) total.left_out_bytes = left_out->second;
  }
  return totals;
}

}  // namespace drover
