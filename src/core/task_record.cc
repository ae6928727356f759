#include "core/task_record.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace drover {
namespace {

constexpr std::string_view kSettleLetters = "cfrxs";  // in the order of SettleKind

}  // namespace

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

std::string to_text(const RunSettlement& settlement) {
  return fmt::format("{}{}{}", kSettleLetters[std::to_underlying(settlement.kind)],
                     std::to_underlying(settlement.state), settlement.lease.to_string());
}

std::optional<RunSettlement> parse_run_settlement(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const std::size_t kind = kSettleLetters.find(text[0]);
  const int state = text[1] - '0';
  const auto lease = LeaseId::parse(text.substr(2));
  if (kind == std::string_view::npos || state < 0 || state >= kTaskStateCount || !lease) return std::nullopt;
  return RunSettlement{static_cast<SettleKind>(kind), static_cast<TaskState>(state), *lease};
}

}  // namespace drover
