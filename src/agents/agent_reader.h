// Reads what one run of an agent prints, line by line, and says at the end what the run came to. Pure: no I/O, no
// clock. One thread. Whatever the bytes are, it neither fails nor grows without bound: what it does not understand
// becomes raw events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent_event.h"
#include "agents/wall_clock.h"
#include "core/usage.h"
#include "drover/task.h"
#include "drover/task_queue.h"

namespace drover::agents {

struct Preset;
class RunRecord;

// A longer line is skipped: its start becomes a raw event.
inline constexpr std::size_t kAgentLineBytesMax = 8 << 20;

// How the agent's process ended.
struct AgentExit {
  int code = 0;
  // The signal that ended it, if one did; `code` does not count then.
  std::optional<int> signal{};
  // We ended it because its result was in and it did not leave: how it ended does not count.
  bool stopped_after_result = false;
};

struct AgentOutcome {
  bool completed = false;
  // Of a run that failed.
  std::optional<ErrorClass> error_class{};
  std::string message{};
  std::optional<Millis> retry_after{};
  std::optional<Time> reset_at{};
  // The session that was to be resumed does not exist: start a fresh one.
  bool session_lost = false;
  // Of a run that completed: what the agent answered.
  std::optional<JsonText> result{};
  std::optional<std::string> session_id{};
  Usage usage{};           // of this run
  Usage session_totals{};  // of the whole session: to be kept, and given to the reader of the run that resumes it

  // How long to wait, whichever way it was said.
  [[nodiscard]] std::optional<Millis> wait_from(Time now) const;
};
// {"outcome", "class", "message", "retry_after_ms", "reset_at", "result", "session_id", "usage"}
[[nodiscard]] std::string outcome_json(const AgentOutcome& outcome);

// The provider asked for less, inside the run or at its end.
struct Throttle {
  ErrorClass error_class = ErrorClass::kRateLimited;  // or kOverloaded, kQuotaExhausted
  std::optional<Millis> retry_after{};
  std::optional<Time> reset_at{};

  bool operator==(const Throttle&) const = default;
};

struct ReaderOptions {
  WallClock clock{};
  // The model that the run was told to use: whose usage it is when the agent does not say.
  std::string model{};
  // The totals of the session that is resumed, as an earlier run's outcome gave them.
  Usage session_totals{};
};

class AgentReader {
 public:
  AgentReader(const Preset& preset, ReaderOptions options);
  ~AgentReader();
  AgentReader(const AgentReader&) = delete;
  AgentReader& operator=(const AgentReader&) = delete;

  // Bytes as they come, cut anywhere; what the whole lines among them say.
  std::vector<AgentEvent> read_stdout(std::string_view bytes, Time now);
  std::vector<AgentEvent> read_stderr(std::string_view bytes, Time now);
  // What was added to the agent's own file during the run. If the turn ended well there, that counts as said.
  std::vector<AgentEvent> read_own_file(std::string_view lines, Time now);
  // The streams have ended: what an unfinished last line says.
  std::vector<AgentEvent> finish(Time now);

  [[nodiscard]] const std::optional<std::string>& session_id() const;
  // A result is in, the model has said nothing since, and nothing works in the background: the process should leave
  // now.
  [[nodiscard]] bool is_settled() const;
  // A model has answered at least once.
  [[nodiscard]] bool has_answer() const;
  // Of this run so far.
  [[nodiscard]] const Usage& usage() const;
  // Of the whole session so far.
  [[nodiscard]] Usage session_totals() const;
  // The latest one, and how many there were.
  [[nodiscard]] const std::optional<Throttle>& throttle() const;
  [[nodiscard]] std::int64_t throttles() const;
  // The names of tools that the agent wanted and was refused.
  [[nodiscard]] const std::vector<std::string>& denied_tools() const;
  // The tool that was called last and has not answered; empty if there is none.
  [[nodiscard]] std::string_view current_tool() const;
  // Lines that were understood: as long as it grows, the agent is alive.
  [[nodiscard]] std::int64_t lines_understood() const;

  // Call finish() first.
  [[nodiscard]] AgentOutcome conclude(const AgentExit& exit) const;

 private:
  class Lines;

  void read_line(std::string_view line, std::size_t skipped);
  void read_error_line(std::string_view line);

  const Preset& preset_;
  bool has_ended_elsewhere_ = false;  // what it says when it is ended after that does not count
  std::unique_ptr<RunRecord> record_;
  std::unique_ptr<Lines> out_;
  std::unique_ptr<Lines> err_;
};

}  // namespace drover::agents
