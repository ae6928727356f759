#include "cli/mcp_allowance.h"

#include <algorithm>

namespace drover::cli {

void define_mcp_allowance(Verb& verb, const std::string& option, std::vector<McpAllowance>* target) {
  const auto read = [](std::string_view word) {
    return read_enumerator<McpAllowance>(word, choices_of("cancel|retry|answer"));
  };
  verb.list(option, "cancel|retry|answer", target, read,
            "let agents that use MCP cancel or retry tasks, or answer questions")
      .several();
}

mcp::Allowed allowed_of(const std::vector<McpAllowance>& allowances) {
  const auto has = [&](McpAllowance wanted) { return std::ranges::find(allowances, wanted) != allowances.end(); };
  return {
      .cancel = has(McpAllowance::kCancel), .retry = has(McpAllowance::kRetry), .answer = has(McpAllowance::kAnswer)};
}

}  // namespace drover::cli
