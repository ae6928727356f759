// MCP over standard input and output: a message a line. Reads until the end of the input; calls that wait do not hold
// up others, and a client may take one back.
#pragma once

#include <functional>

#include "base/clock.h"
#include "drover/error.h"
#include "mcp/service.h"

namespace drover::mcp {

inline constexpr std::size_t kLineBytesMax = std::size_t{16} << 20U;
inline constexpr std::size_t kWaitingCallsMax = 64;

struct StdioOptions {
  int in = 0;
  int out = 1;
  // Returns when something may have happened since `seen`, or after the time; and the number that `seen` is compared
  // with.
  std::function<std::uint64_t()> changes;
  std::function<void(std::uint64_t seen, Millis timeout)> wait_for_change;
};

// Until the end of the input, or until nobody reads the output. What waits then is answered as it stands.
[[nodiscard]] Status serve_stdio(const Service& service, Toolset& tools, const StdioOptions& options);

}  // namespace drover::mcp
