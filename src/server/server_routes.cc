// What a server says of itself.
#include <array>

#include "server/api.h"
#include "server/openapi.h"

namespace drover::server {
namespace {

Answer openapi(const Call& /*call*/) {
  return HttpResponse{.body = std::string(openapi_json())};
}

Answer metrics(const Call& call) {
  if (const Status allowed = call.queue.may_operate(); !allowed) return problem(allowed.error());
  auto text = call.metrics.scrape(call.queue);
  if (!text) return problem(text.error());
  return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = *std::move(text)};
}

constexpr std::array kServerRoutes{
    Route{"GET", "/openapi.json", openapi, Access::kAnyone},
    Route{"GET", "/metrics", metrics},
    Route{"GET", kHealthPath, nullptr, Access::kAnyone, AnsweredBy::kLoop},
    Route{"GET", kReadyPath, nullptr, Access::kAnyone, AnsweredBy::kLoop},
};

}  // namespace

std::span<const Route> server_routes() {
  return kServerRoutes;
}

}  // namespace drover::server
