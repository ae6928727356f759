// What fuzzing feeds: each target takes any bytes as what it is about, and aborts if a promise about them does not
// hold.
#pragma once

#include <span>
#include <string_view>

namespace drover::fuzz {

struct Target {
  std::string_view name;
  void (*feed)(std::string_view input);
};

[[nodiscard]] std::span<const Target> targets();

void feed_agent(std::string_view input);
void feed_agent_file(std::string_view input);
void feed_agent_error(std::string_view input);
void feed_api(std::string_view input);
void feed_chunked(std::string_view input);
void feed_http(std::string_view input);
void feed_http_response(std::string_view input);
void feed_json(std::string_view input);
void feed_json_schema(std::string_view input);
void feed_task(std::string_view input);
void feed_filter(std::string_view input);
void feed_query(std::string_view input);
void feed_values(std::string_view input);
void feed_parent_template(std::string_view input);
void feed_resp(std::string_view input);
void feed_config(std::string_view input);
void feed_websocket(std::string_view input);
void feed_websocket_control(std::string_view input);
void feed_time_zone(std::string_view input);
void feed_output(std::string_view input);
void feed_token(std::string_view input);
void feed_usage(std::string_view input);
void feed_budget(std::string_view input);
void feed_question(std::string_view input);
void feed_fingerprint(std::string_view input);
void feed_git_refs(std::string_view input);
void feed_mcp(std::string_view input);
void feed_mcp_lines(std::string_view input);
void feed_mcp_text(std::string_view input);

}  // namespace drover::fuzz
