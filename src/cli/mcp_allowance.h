// What agents may do over MCP beside enqueueing and looking: --allow and --tool of `drover mcp`,
// --mcp-allow and --mcp-tool of a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "mcp/queue_tools.h"

namespace drover::cli {

enum class McpAllowance : std::uint8_t { kCancel, kRetry, kAnswer };

struct McpAllowances {
  std::vector<McpAllowance> verbs;
  std::vector<mcp::TypeTool> types;
};

// --allow and --tool, or with "mcp-" before these names.
void define_mcp_allowances(Verb& verb, const std::string& prefix, McpAllowances* target);
[[nodiscard]] mcp::Allowed allowed_of(const McpAllowances& allowances);

}  // namespace drover::cli
