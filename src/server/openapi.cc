#include "server/openapi.h"

#include <string>

#include "base/check.h"
#include "base/json.h"
#include "embedded/server.h"
#include "policy/config_node.h"

namespace drover::server {

std::string_view openapi_json() {
  static const std::string kJson = [] {
    const auto document = ConfigNode::parse(embedded::openapi_yaml, "openapi.yaml");
    CHECK(document.has_value());
    return json::dump(document->to_json()) + "\n";
  }();
  return kJson;
}

}  // namespace drover::server
