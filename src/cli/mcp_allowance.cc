#include "cli/mcp_allowance.h"

#include <algorithm>

namespace drover::cli {

void define_mcp_allowances(Verb& verb, const std::string& prefix, McpAllowances* target) {
  const auto read = [](std::string_view word) {
    return read_enumerator<McpAllowance>(word, choices_of("cancel|retry|answer"));
  };
  verb.list(prefix + "allow", "cancel|retry|answer", &target->verbs, read,
            "let agents that use MCP cancel or retry tasks, or answer questions")
      .several();
  verb.list(prefix + "tool", "TYPE", &target->types, mcp::parse_type_tool,
            "give agents that use MCP a tool for this task type; TYPE:never and TYPE:required: see docs/guide/mcp.md")
      .several();
}

mcp::Allowed allowed_of(const McpAllowances& allowances) {
  const auto has = [&](McpAllowance wanted) {
    return std::ranges::find(allowances.verbs, wanted) != allowances.verbs.end();
  };
  return {.cancel = has(McpAllowance::kCancel),
          .retry = has(McpAllowance::kRetry),
          .answer = has(McpAllowance::kAnswer),
          .types = allowances.types};
}

}  // namespace drover::cli
