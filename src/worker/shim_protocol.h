// What worker and shim say to each other over two pipes: one line each, far below PIPE_BUF, so that a write is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace drover {

// The shim's side of the pipes. The agent's own stdin, stdout and stderr are the shim's 0 to 2.
inline constexpr int kShimControlFd = 3;
inline constexpr int kShimStatusFd = 4;

// Worker to shim. Times are CLOCK_MONOTONIC, which both see alike. Closing the pipe means: kill at once.
struct LeaseUntil {
  MonoTime expires_at;
  bool operator==(const LeaseUntil&) const = default;
};
struct StopWithin {
  Millis grace{0};
  bool operator==(const StopWithin&) const = default;
};
// INT to the agent, as a person at a terminal would: some say goodbye then. A stop follows.
struct InterruptAgent {
  bool operator==(const InterruptAgent&) const = default;
};
// The agent's output is at its end: nothing that it left behind still writes there.
struct OutputClosed {
  bool operator==(const OutputClosed&) const = default;
};
using ShimOrder = std::variant<LeaseUntil, InterruptAgent, StopWithin, OutputClosed>;

// Shim to worker. The shim's exit says that the whole tree is gone.
enum class EndedBy : std::uint8_t {
  kItself,
  kStop,   // after our INT, TERM or KILL
  kFence,  // after the shim's own, because the lease ran short
};
struct AgentStarted {
  int pid = 0;
  bool operator==(const AgentStarted&) const = default;
};
struct SpawnFailed {
  int error_number = 0;
  bool operator==(const SpawnFailed&) const = default;
};
struct AgentExited {
  int code = 0;
  EndedBy by = EndedBy::kItself;
  bool operator==(const AgentExited&) const = default;
};
struct AgentKilled {
  int signal = 0;
  EndedBy by = EndedBy::kItself;
  bool operator==(const AgentKilled&) const = default;
};
using ShimReport = std::variant<AgentStarted, SpawnFailed, AgentExited, AgentKilled>;

[[nodiscard]] std::string format_order(const ShimOrder& order);
[[nodiscard]] std::string format_report(const ShimReport& report);
// Nothing for a line that is none of these.
[[nodiscard]] std::optional<ShimOrder> parse_order(std::string_view line);
[[nodiscard]] std::optional<ShimReport> parse_report(std::string_view line);

// Cuts a byte stream into lines; what follows the last newline waits for the next call.
class LineReader {
 public:
  [[nodiscard]] std::vector<std::string> feed(std::string_view bytes);

 private:
  std::string rest_;
};

}  // namespace drover
