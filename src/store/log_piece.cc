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

}  // namespace drover
