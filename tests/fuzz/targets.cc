#include "fuzz/targets.h"

#include <array>

namespace drover::fuzz {
namespace {

constexpr std::array kTargets{
    Target{"http", feed_http},
    Target{"http_response", feed_http_response},
    Target{"json", feed_json},
    Target{"json_schema", feed_json_schema},
    Target{"task", feed_task},
    Target{"filter", feed_filter},
    Target{"query", feed_query},
    Target{"values", feed_values},
    Target{"resp", feed_resp},
    Target{"config", feed_config},
    Target{"websocket", feed_websocket},
    Target{"token", feed_token},
    Target{"api", feed_api},
    Target{"fingerprint", feed_fingerprint},
    Target{"git_refs", feed_git_refs},
    Target{"chunked", feed_chunked},
    Target{"websocket_control", feed_websocket_control},
    Target{"agent", feed_agent},
    Target{"agent_file", feed_agent_file},
    Target{"agent_error", feed_agent_error},
    Target{"output", feed_output},
    Target{"time_zone", feed_time_zone},
    Target{"usage", feed_usage},
    Target{"budget", feed_budget},
    Target{"question", feed_question},
    Target{"parent_template", feed_parent_template},
    Target{"mcp", feed_mcp},
    Target{"mcp_lines", feed_mcp_lines},
    Target{"mcp_text", feed_mcp_text},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

}  // namespace drover::fuzz
