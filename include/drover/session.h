// Sessions: a name under which tasks of one owner go on with the same agent, one task at a time.
//
// A session is warm if the next task can resume what the agent of the last one left on its host. Nothing lives on
// between two tasks: a process would outlive its lease.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/ids.h"
#include "drover/time.h"
#include "drover/usage.h"

namespace drover {

struct SessionName {
  std::string owner{};
  std::string name{};

  bool operator==(const SessionName&) const = default;
};

enum class SessionState : std::uint8_t {
  kBusy,     // a task runs in it
  kWaiting,  // tasks of it wait, and none runs
  kWarm,     // the next task goes on with its agent
  kCold,     // the next task begins afresh
};
inline constexpr int kSessionStateCount = 4;
[[nodiscard]] std::string_view name_of(SessionState state);
[[nodiscard]] std::optional<SessionState> parse_session_state(std::string_view name);

struct SessionInfo {
  SessionName name{};
  SessionState state = SessionState::kCold;
  std::optional<AgentState> agent{};          // that the next task goes on with
  bool preflight_done = false;                // it was told what every session of its name is told
  std::vector<std::string> bootstrap_keys{};  // what else it was told, oldest first
  std::int64_t runs = 0;                      // that ended in it since it began
  Time created_at{};
  Time last_used_at{};              // when a run in it ended
  std::optional<Time> idle_at{};    // from when on it begins afresh, if it is not used until then
  std::optional<Time> reset_at{};   // when somebody reset it last
  std::vector<TaskId> tasks{};      // that have not ended, in the order in which they came
  std::optional<TaskId> running{};  // of these, the one that runs in it

  bool operator==(const SessionInfo&) const = default;
};

struct SessionQuery {
  std::optional<std::string> owner{};
  int limit = 1'000;
  std::optional<std::string> cursor{};
};

struct SessionPage {
  std::vector<SessionInfo> sessions{};  // which tasks of them run is not said
  std::optional<std::string> cursor{};
};

// What a run of a task needs to know of its session.
struct SessionStart {
  std::optional<AgentState> agent{};  // to go on with, if this host has it
  std::string preflight{};            // for a session that begins; empty: there is none
  bool preflight_due = false;         // for one that goes on, too
  bool bootstrap_due = false;         // the task's own bootstrap, for one that goes on

  bool operator==(const SessionStart&) const = default;
};

}  // namespace drover
