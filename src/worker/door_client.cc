// The agent's side of the door.
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "net/http_client.h"
#include "worker/door.h"

namespace drover {
namespace {

constexpr std::string_view kScheme = "unix:";
constexpr Millis kProgressTimeout{30'000};
constexpr int kFirstBadStatus = 400;

std::unexpected<Error> unreachable(std::string_view why) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("the task's door does not answer: {}", why), "door");
}

}  // namespace

Result<std::string> door_request(const std::string& url, const std::string& method, const std::string& target,
                                 std::string body, Millis timeout) {
  if (!url.starts_with(kScheme)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not the address of a task's door (unix:PATH)", json::quote(url)));
  }
  HttpClient client({.transport = Endpoint::Transport::kUnix,
                     .path = url.substr(kScheme.size()),
                     .peer = "the task's door",
                     .url = url});
  const HttpRequest request{.method = method, .target = target, .body = std::move(body), .keep_alive = false};
  auto response = client.exchange(request, timeout);
  if (!response) return unreachable(response.error().message);
  if (response->status >= kFirstBadStatus) return std::unexpected(error_of_problem(*response));
  return std::move(response->body);
}

Status report_progress(const std::string& url, const Progress& progress) {
  json::Writer out;
  out.begin_object().key("percent").number(progress.percent).key("message").string(progress.message).end_object();
  TRY(door_request(url, "POST", "/v1/task/progress", std::move(out).take(), kProgressTimeout));
  return {};
}

}  // namespace drover
