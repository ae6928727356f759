// What differs between two policy documents, member by member.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace drover::cli {

struct Difference {
  std::string path;    // "types.draft.max_attempts"
  std::string before;  // JSON; empty where there was nothing
  std::string after;   // JSON; empty where there is nothing any more

  bool operator==(const Difference&) const = default;
};

// By path. Objects are compared member by member, everything else as a whole.
[[nodiscard]] std::vector<Difference> differences(const json::Value& before, const json::Value& after);

}  // namespace drover::cli
