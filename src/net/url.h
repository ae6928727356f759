// The parts of a request's target, decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/error.h"

namespace drover {

// %XX and, in a query, + for a space. Nothing if the text is not well formed or not UTF-8.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
// Everything but letters, digits and -._~ is written as %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);

struct Target {
  std::vector<std::string> path;  // the parts between slashes, decoded
  std::vector<std::pair<std::string, std::string>> query;
};

// "/v1/tasks?state=failed&state=pending". kInvalidArgument if it is not well formed.
[[nodiscard]] Result<Target> parse_target(std::string_view text);

// The URL without the user and password that it may hold.
[[nodiscard]] std::string without_credentials(std::string_view url);

}  // namespace drover
