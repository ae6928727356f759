// Why a program failed, as the last lines of its output say it. Any program may run here, and print anything: a line
// counts only if a pattern of the runner profile fits it, or if it is plainly a provider's refusal.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/said_wait.h"
#include "agents/wall_clock.h"
#include "drover/error.h"
#include "drover/task.h"
#include "drover/task_queue.h"

namespace drover::agents {

inline constexpr std::size_t kOutputPatternsMax = 100;

// Of a runner profile.
struct OutputPattern {
  std::string match;  // RE2; its group `seconds` or `time` is how long to wait
  ErrorClass error_class = ErrorClass::kAgentError;

  bool operator==(const OutputPattern&) const = default;
};
// kInvalidArgument for what RE2 does not take, and for more than a pattern needs.
[[nodiscard]] Status check_output_pattern(const std::string& match);

// The last 40 lines of both streams, in the order in which they ended; long ones are cut.
class OutputTail {
 public:
  void feed(LogStream stream, std::string_view bytes);
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::array<std::string, 2> open_;  // of stdout and stderr, the line that has not ended
  std::deque<std::string> ended_;
};

struct OutputTrouble {
  ErrorClass error_class = ErrorClass::kAgentError;
  std::string line{};  // that says so
  SaidWait wait{};
};
// By the first pattern that fits a line, and the last line that it fits. Requires patterns that were checked.
[[nodiscard]] std::optional<OutputTrouble> trouble_by_pattern(std::span<const std::string> lines,
                                                              std::span<const OutputPattern> patterns,
                                                              const WallClock& clock);
// By the last line in which a provider plainly refuses: a throttle, auth, billing or context_too_long.
[[nodiscard]] std::optional<OutputTrouble> usual_trouble(std::span<const std::string> lines, const WallClock& clock);

}  // namespace drover::agents
