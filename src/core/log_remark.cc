#include "core/log_remark.h"

#include <fmt/format.h>

#include <charconv>

namespace drover {
namespace {

constexpr std::string_view kBehindTheNumber = " bytes of output left out here]\n";

}  // namespace

std::string left_out_remark(std::int64_t bytes) {
  return fmt::format("[{}{}", bytes, kBehindTheNumber);
}

std::int64_t output_bytes(LogStream stream, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (stream != LogStream::kDrover || !text.starts_with('[') || !text.ends_with(kBehindTheNumber)) return size;
  const std::string_view number = text.substr(1, text.size() - 1 - kBehindTheNumber.size());
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  return error == std::errc{} && end == number.data() + number.size() && bytes >= 0 ? bytes : size;
}

}  // namespace drover
