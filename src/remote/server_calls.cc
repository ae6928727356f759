#include "remote/server_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "net/url.h"
#include "wire/introduction.h"

namespace drover::remote {
namespace {

constexpr int kFirstBadStatus = 400;

// It goes into a header as it is.
Status check_token_text(std::string_view token) {
  const bool is_visible = std::ranges::all_of(token, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (is_visible) return {};
  return drover::fail(ErrorCode::kInvalidArgument, "the token has a character in it that no token has");
}

}  // namespace

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    path += fmt::format("{}{}={}", separator, name, percent_encode(value));
    separator = '&';
  }
  return path;
}

std::unexpected<Error> unreadable(const Error& error) {
  return drover::fail(ErrorCode::kStoreUnavailable,
                      fmt::format("the server's answer makes no sense: {}", error.message), "remote.read");
}

Result<std::unique_ptr<ServerCalls>> ServerCalls::open(RemoteOptions options) {
  TRY(check_token_text(options.token));
  auto addresses = TRY(parse_server_urls(options.url));
  return std::make_unique<ServerCalls>(std::move(addresses), std::move(options));
}

ServerCalls::ServerCalls(std::vector<ServerAddress> addresses, RemoteOptions options) : options_(std::move(options)) {
  for (ServerAddress& address : addresses) servers_.push_back(std::make_unique<Server>(std::move(address)));
}

// With the server that answered last. When it does not answer the next one is asked from then on: at once if the
// request cannot have taken effect, or may take effect twice; else the caller decides.
Result<HttpResponse> ServerCalls::exchange_with_one(HttpRequest request, Millis timeout) {
  request.headers.emplace_back("host", "");
  Result<HttpResponse> response = drover::fail(ErrorCode::kStoreUnavailable, "no server");
  for (std::size_t tries = 0; tries < servers_.size(); ++tries) {
    std::size_t number = current_.load();
    Server& server = *servers_[number];
    request.headers.back().second = server.host;
    response = server.client.exchange(request, timeout, &leaving_);
    if (response || leaving_.is_raised()) return response;
    current_.compare_exchange_strong(number, (number + 1) % servers_.size());
    if (request.method != "GET" && response.error().operation != kConnectOperation) return response;
  }
  return response;
}

Result<HttpResponse> ServerCalls::exchange(const std::string& method, std::string target, std::string body,
                                           Millis timeout, HttpHeaders headers, Effect effect) {
  if (!options_.token.empty()) headers.emplace_back("authorization", "Bearer " + options_.token);
  const std::optional<StoreMark> seen = seen_.mark();
  if (seen) headers.emplace_back(kSeenHeader, to_string(*seen));
  auto response = exchange_with_one(
      {.method = method, .target = std::move(target), .body = std::move(body), .headers = std::move(headers)}, timeout);
  if (!response) return response;
  seen_.take(seen, response->header(kSeenHeader));
  if (response->status >= kFirstBadStatus) return std::unexpected(error_of_problem(*response));
  if (method != "GET" && effect == Effect::kChange) count_change();
  return response;
}

Result<std::string> ServerCalls::fetch(const std::string& method, std::string target, std::string body) {
  auto response = TRY(exchange(method, std::move(target), std::move(body), options_.timeout, {}));
  return std::move(response.body);
}

}  // namespace drover::remote
