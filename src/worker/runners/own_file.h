// The file in which an agent itself keeps a session (agents/own_turn.h), found by the session's id.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/preset.h"

namespace drover {

// Its path; empty if there is none. `environment` is that of the run.
[[nodiscard]] std::string find_own_file(const agents::OwnFile& own_file, const std::vector<std::string>& environment,
                                        const std::string& session_id);
// 0 if there is none.
[[nodiscard]] std::int64_t size_of_file(const std::string& path);
// What was added since it had that size; empty if that is more than anybody wants to read, or cannot be read.
[[nodiscard]] std::string read_added(const std::string& path, std::int64_t size_before);

}  // namespace drover
