// What went wrong, as an agent's own error events say it, and the class that it is. The model's words never get here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agents/said_wait.h"
#include "base/json.h"
#include "drover/task.h"

namespace drover::agents {

struct Trouble {
  std::string text{};                 // for people
  std::string type{};                 // the machine's words for it, with spaces between: "rate_limit rate_limit_error"
  std::optional<int> status{};        // HTTP
  SaidWait wait{};                    // said beside the text
  std::optional<ErrorClass> known{};  // the preset knows better than the table

  void add_type(std::string_view word);
};

// From the text of an error event, which may be JSON with the message inside.
[[nodiscard]] Trouble trouble_of(std::string_view text);
[[nodiscard]] ErrorClass class_of(const Trouble& trouble);
// The same, of a text that may be anybody's: it can tell that a login is missing, but not that a provider throttles.
[[nodiscard]] ErrorClass class_of_stranger(std::string_view text);

// Fills in the status and waits that stand beside an error under any of their usual names (status, statusCode,
// retry_after, resetsAt, …), and the machine's words.
void read_members(const json::Value& error, const WallClock& clock, Trouble& trouble);
// The innermost message of an error that is JSON inside a text; the text itself if it is not.
[[nodiscard]] std::string innermost_message(std::string_view text);

}  // namespace drover::agents
