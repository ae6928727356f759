// What agents may do over MCP beside enqueueing and looking: --allow of `drover mcp`, --mcp-allow of a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "mcp/queue_tools.h"

namespace drover::cli {

enum class McpAllowance : std::uint8_t { kCancel, kRetry, kAnswer };

void define_mcp_allowance(Verb& verb, const std::string& option, std::vector<McpAllowance>* target);
[[nodiscard]] mcp::Allowed allowed_of(const std::vector<McpAllowance>& allowances);

}  // namespace drover::cli
