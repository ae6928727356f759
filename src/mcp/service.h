// The protocol: a message in, an answer out, in both eras. Pure but for what the tools do; keeps nothing between
// messages.
//
//   modern (2026-07-28)  server/discover, tools/list, tools/call, tasks/get, tasks/update, tasks/cancel
//   legacy (2025-…)      initialize, ping, tools/list, tools/call
//
// Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "mcp/request.h"
#include "mcp/tool.h"

namespace drover::mcp {

struct Response {
  std::string body;  // empty: a notification gets no answer
  int http_status = 200;
};
using Answer = std::variant<Response, Waiting>;

class Service {
 public:
  explicit Service(std::string version) : version_(std::move(version)) {}

  // `made` is what earlier attempts at this request have made; empty for the first.
  [[nodiscard]] Answer answer(const Request& request, Toolset& tools, std::string& made, Attempt attempt) const;
  // To a message that could not be read.
  [[nodiscard]] static Response refuse(const RpcError& error);

 private:
  [[nodiscard]] std::string server_info() const;
  [[nodiscard]] std::string finished(const Request& request, json::Writer&& members, bool cacheable = false) const;
  [[nodiscard]] std::expected<std::variant<std::string, Waiting>, RpcError> result_of(const Request& request,
                                                                                      Toolset& tools, std::string& made,
                                                                                      Attempt attempt) const;
  [[nodiscard]] std::string discover(const Request& request, Toolset& tools) const;
  [[nodiscard]] std::expected<std::string, RpcError> initialize(const Request& request) const;
  [[nodiscard]] std::string list_tools(const Request& request, const Toolset& tools) const;
  [[nodiscard]] std::expected<std::variant<std::string, Waiting>, RpcError> call_tool(const Request& request,
                                                                                      Toolset& tools, std::string& made,
                                                                                      Attempt attempt) const;
  [[nodiscard]] std::string call_result(const Request& request, const ToolResult& result) const;
  [[nodiscard]] std::expected<std::string, RpcError> follow_task(const Request& request, TaskFollower& follower) const;

  const std::string version_;
};

}  // namespace drover::mcp
