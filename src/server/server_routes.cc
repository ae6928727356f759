// What a server says of itself, to anyone.
#include <array>

#include "server/api.h"
#include "server/openapi.h"

namespace drover::server {
namespace {

Answer openapi(const Call& /*call*/) {
  return HttpResponse{.body = std::string(openapi_json())};
}

constexpr std::array kServerRoutes{
    Route{"GET", "/openapi.json", openapi, Access::kAnyone},
    Route{"GET", kHealthPath, nullptr, Access::kAnyone, Place::kLoop},
    Route{"GET", kReadyPath, nullptr, Access::kAnyone, Place::kLoop},
};

}  // namespace

std::span<const Route> server_routes() {
  return kServerRoutes;
}

}  // namespace drover::server
