// /mcp: the Model Context Protocol for agents. Which tools there are, and whose tasks they show, follows from the
// token.
#include <array>

#include "mcp/queue_tools.h"
#include "mcp/service.h"
#include "server/api.h"

namespace drover::server {
namespace {

std::optional<std::string> header_of(const Call& call, std::string_view name) {
  const std::string_view value = call.request.header(name);
  return value.empty() ? std::nullopt : std::optional<std::string>(value);
}

mcp::CallerRights rights_of(const Principal& principal) {
  return {.read = need(principal, Right::kRead).has_value(),
          .produce = need(principal, Right::kProduce).has_value(),
          .operate = need(principal, Right::kOperate).has_value()};
}

HttpResponse to_http(mcp::Response response) {
  const bool is_empty = response.body.empty();
  return {.status = response.http_status,
          .content_type = is_empty ? "" : "application/json",
          .body = std::move(response.body)};
}

bool takes_events(const Call& call) {
  return call.request.header("accept").find("text/event-stream") != std::string_view::npos;
}

// A client that asked for progress, and takes events, hears of it while it waits.
Wait wait_for(const Call& call, const mcp::Request& request, mcp::Waiting waiting) {
  Wait wait{.for_what = Wait::Change{}, .at_most = waiting.at_most};
  if (request.progress_token && takes_events(call)) {
    wait.tell = mcp::tell_progress(request, waiting, call.told, system_clock().mono());
    wait.look_again = mcp::kProgressEvery;
  }
  wait.for_what = Wait::OfTasks{std::move(waiting.tasks)};
  return wait;
}

Answer answer_mcp(const Call& call) {
  if (const Status allowed = need(call.queue.principal(), Right::kRead); !allowed) return problem(allowed.error());
  const mcp::HttpHeaders headers{.version = header_of(call, "mcp-protocol-version"),
                                 .method = header_of(call, "mcp-method"),
                                 .name = header_of(call, "mcp-name")};
  const auto request = mcp::read_request(call.request.body, &headers);
  if (!request) return to_http(mcp::Service::refuse(request.error()));
  mcp::QueueTools tools(call.queue, call.mcp_allowed, rights_of(call.queue.principal()));
  const mcp::Service service{std::string(call.version)};
  const auto attempt = call.attempt == Try::kMayWait ? mcp::Attempt::kMayWait : mcp::Attempt::kLast;
  auto answer = service.answer(*request, tools, call.made, attempt);
  if (auto* waiting = std::get_if<mcp::Waiting>(&answer)) return wait_for(call, *request, std::move(*waiting));
  return to_http(std::get<mcp::Response>(std::move(answer)));
}

constexpr std::array kMcpRoutes{
    Route{"POST", kMcpPath, answer_mcp},
};

}  // namespace

std::span<const Route> mcp_routes() {
  return kMcpRoutes;
}

}  // namespace drover::server
