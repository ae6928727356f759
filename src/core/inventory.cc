#include "core/inventory.h"

#include <fmt/format.h>

namespace drover {

std::vector<Finding> find_missing(const Inventory& inventory) {
  std::vector<Finding> missing;
  const auto& [policy, tokens, first_event, last_event, first_event_there] = inventory;
  if (policy.version > 0 && !policy.is_there) {
    missing.push_back({"policy_missing", fmt::format("the policy is gone (version {}); apply it again: drover config "
                                                     "apply FILE",
                                                     policy.version)});
  }
  if (tokens.version > 0 && !tokens.is_there) {
    missing.push_back({"access_tokens_missing", fmt::format("the access tokens are gone (version {}); create new ones: "
                                                            "drover token create",
                                                            tokens.version)});
  }
  const std::int64_t there = first_event_there.value_or(last_event + 1);
  if (there > first_event) {
    missing.push_back({"events_missing", fmt::format("events {} to {} are gone", first_event, there - 1)});
  }
  return missing;
}

}  // namespace drover
