#include "core/task_record.h"

#include <fmt/format.h>

#include <charconv>

namespace drover {

std::string to_text(const LostRun& lost) {
  return fmt::format("{} {}", lost.run, lost.lease.to_string());
}

std::optional<LostRun> parse_lost_run(std::string_view text) {
  LostRun lost;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, lost.run);
  if (error != std::errc{} || stop == end || *stop != ' ') return std::nullopt;
  const auto lease = LeaseId::parse(std::string_view(stop + 1, end));
  if (!lease) return std::nullopt;
  lost.lease = *lease;
  return lost;
}

}  // namespace drover
