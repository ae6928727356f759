// What is kept of a session, and how runs change it. Pure.
//
// The record stands on the session's gate, `session:OWNER::NAME`, which has one permit. So it moves in the same group
// of steps as the tasks that it tells of, and under the same compare-and-set.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy.h"
#include "core/step.h"
#include "drover/session.h"
#include "drover/task_queue.h"

namespace drover {

inline constexpr std::size_t kSessionTasksMax = 1'000;  // that have not ended, of one session
inline constexpr std::size_t kBootstrapKeysMax = 64;    // that are remembered; an older one is told again

struct SessionRecord {
  std::optional<AgentState> agent{};
  bool preflight_done = false;
  std::vector<std::string> bootstrap_keys{};
  std::int64_t runs = 0;
  Time created_at{};
  Time last_used_at{};
  std::optional<Time> reset_at{};
  // Every task of the session that has not ended. Some of them may have ended since: whoever goes by them looks.
  std::vector<TaskId> tasks{};

  bool operator==(const SessionRecord&) const = default;
};

[[nodiscard]] JsonText session_record_json(const SessionRecord& record);
[[nodiscard]] Result<SessionRecord> parse_session_record(std::string_view json);
// Of its gate; one that begins now if it has none. kStoreDamaged: it cannot be read.
[[nodiscard]] Result<SessionRecord> session_of(const GateRecord& gate, Time now);

// A name without a colon: the gate's name is taken apart at the last two.
[[nodiscard]] Status check_session_name(std::string_view name);
// kInvalidArgument: it is not {"key", "text"}, with a name and a text.
[[nodiscard]] Status check_bootstrap(std::string_view json);

struct Bootstrap {
  std::string key;
  std::string text;
};
[[nodiscard]] std::optional<Bootstrap> bootstrap_of(const Task& task);

[[nodiscard]] std::string session_gate(const SessionName& name);
[[nodiscard]] std::optional<SessionName> parse_session_gate(std::string_view gate);
// The gate of the session that a task runs in; none if it runs in none.
[[nodiscard]] std::optional<std::string> session_gate_of(const Task& task);

// A session that nobody used for too long has nothing left but its tasks.
[[nodiscard]] SessionRecord as_of(SessionRecord record, const SessionPolicy& policy, Time now);
// Nothing to keep at that time: forgotten, unless a task uses it.
[[nodiscard]] bool is_over(const SessionRecord& record, const SessionPolicy& policy, Time now);

// What a run that started then is told. A task that is to begin afresh after a failure does.
[[nodiscard]] SessionStart start_in(const SessionRecord& record, const SessionPolicy& policy, const Task& task);

// A task comes to it. kLimitExceeded: it has as many as may be.
[[nodiscard]] Status join(SessionRecord& record, const TaskId& task);

// A run that a settlement ended.
struct SessionRun {
  const Task& before;  // while it ran
  TaskState after;     // what it came to
  const Settlement& end;
  std::optional<std::string> bootstrap_key{};  // of its task
};
[[nodiscard]] SessionRecord after_run(SessionRecord record, const SessionPolicy& policy, const SessionRun& run,
                                      Time now);

void reset(SessionRecord& record, Time now);

// Without what only a look at its tasks can tell.
[[nodiscard]] SessionInfo info_of(const SessionName& name, const SessionRecord& record, const SessionPolicy& policy,
                                  const GateUse& use, Time now);

// {"owner", "name", "state", "agent", "preflight_done", "bootstrap_keys", "runs", "created_at", "last_used_at",
// "idle_at", "reset_at", "tasks", "running"}
[[nodiscard]] std::string to_json(const SessionInfo& session);
[[nodiscard]] Status read_json(std::string_view json, SessionInfo& out);
// {"sessions", "cursor"}
[[nodiscard]] Status read_json(std::string_view json, SessionPage& out);
// {"agent", "preflight", "preflight_due", "bootstrap_due"}
[[nodiscard]] std::string to_json(const SessionStart& start);
[[nodiscard]] Status read_json(std::string_view json, SessionStart& out);

}  // namespace drover
