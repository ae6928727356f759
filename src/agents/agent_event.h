// What an agent's output says, in one vocabulary for all agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/usage.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover::agents {

// The kinds of a transcript's lines.
enum class AgentEventKind : std::uint8_t {
  kSession,     // the agent named its session
  kText,        // the model's words
  kReasoning,   // its thoughts, as far as they are shown
  kToolCall,    // text: the input as JSON
  kToolResult,  // text: the output
  kUsage,
  kRetry,  // the agent tries a request again by itself
  kError,  // something went wrong; the run may go on
  kQuestion,
  kResult,  // a turn ended
  kRaw,     // a line that this version does not understand
};
inline constexpr int kAgentEventKindCount = 11;
[[nodiscard]] std::string_view name_of(AgentEventKind kind);

inline constexpr std::size_t kEventTextBytesMax = 64 * 1024;

struct AgentEvent {
  AgentEventKind kind = AgentEventKind::kRaw;
  std::string text{};               // UTF-8, cut at kEventTextBytesMax; of a session its id
  std::int64_t left_out_bytes = 0;  // of the text, where it was cut
  std::string tool{};
  std::string call_id{};
  bool failed = false;                      // of a tool result, or of a result
  std::optional<ErrorClass> error_class{};  // of a retry, an error or a failed result
  std::optional<int> status{};              // the provider's HTTP status
  std::optional<Millis> delay{};            // of a retry
  std::optional<Usage> usage{};             // of this run so far

  bool operator==(const AgentEvent&) const = default;
};

// One line of a transcript: {"kind", "text", …}, without the members that are not set.
[[nodiscard]] std::string event_json(const AgentEvent& event);

}  // namespace drover::agents
