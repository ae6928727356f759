// The description of the REST API, as it is served.
#pragma once

#include <string_view>

namespace drover::server {

// src/server/openapi.yaml as JSON.
[[nodiscard]] std::string_view openapi_json();

}  // namespace drover::server
