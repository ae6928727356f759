#include "remote/server_probe.h"

#include "base/try.h"
#include "remote/server_calls.h"

namespace drover {
namespace {

struct Reason {
  std::string message;
};

Status read_json(std::string_view json, Reason& out) {
  json::Reader in(json);
  in.need("message", out.message);
  return in.finish();
}

}  // namespace

// Not ready is an answer, too, whatever its status.
Result<std::vector<std::string>> ask_readiness(const ServerAddress& address, Millis timeout) {
  HttpClient client(address.endpoint);
  const auto answer = TRY(client.exchange(
      {.method = "GET", .target = "/readyz", .body = {}, .keep_alive = false, .headers = {{"host", address.host}}},
      timeout));
  remote::Listed<Reason> listed{.name = "reasons", .items = {}};
  if (const Status read = remote::read_json(answer.body, listed); !read) return remote::unreadable(read.error());
  std::vector<std::string> reasons;
  for (Reason& reason : listed.items) reasons.push_back(std::move(reason.message));
  return reasons;
}

Result<Introduction> ask_introduction(const RemoteOptions& options) {
  const auto calls = TRY(remote::ServerCalls::open(options));
  return calls->ask<Introduction>("GET", "/v1/server");
}

}  // namespace drover
