// Sessions: what enqueue, claim, settle and the sweepers do to the records on their gates.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/session_record.h"
#include "engine/cascade.h"

namespace drover {

// The sessions that a group of new tasks comes to: who is in them already, and what becomes of those.
class SessionDesk {
 public:
  // All outlive it. What an interrupt cancels goes to the cascade.
  SessionDesk(Store& store, RecordView& view, Cascade& cascade, Time now)
      : store_(store), view_(view), cascade_(cascade), now_(now) {}

  // The task comes to its session, if it has one. kSessionBusy: its rule does not let it wait.
  [[nodiscard]] Status admit(const Task& task, BusyRule busy);
  // Every session that was come to, so that nobody comes to it unnoticed meanwhile.
  [[nodiscard]] std::vector<GateStep> take_steps();

 private:
  struct Seen {
    GateRecord gate;
    SessionRecord record;
    bool is_in_use = false;
  };

  Result<Seen*> look_at(const std::string& gate);
  // Those that have not ended, as the group so far leaves them; the others are dropped from the record.
  Result<std::vector<TaskRecord>> unfinished(Seen& seen);
  Status interrupt(const Task& task, const std::vector<TaskRecord>& others);

  Store& store_;
  RecordView& view_;
  Cascade& cascade_;
  Time now_;
  std::map<std::string, Seen> seen_;
};

// Adds to the group what the sessions of tasks that it opens again have to know.
[[nodiscard]] Status rejoin_sessions(Store& store, StepGroup& group, Time now);

// The step by which a gate gets that record.
[[nodiscard]] GateStep session_step(const GateRecord& gate, const SessionRecord& record);

// Which task holds the session of this gate; none if nobody does, or it is not known.
[[nodiscard]] Result<std::optional<TaskId>> holder_of_session(Store& store, const std::string& gate, Time now);

// Drops tasks that have ended, and sessions that nobody used for too long: of at most `limit` sessions after `after`.
// The name to go on with; empty at the end.
[[nodiscard]] Result<std::string> tidy_sessions(Store& store, const Policy& policy, const std::string& after,
                                                int limit);

// Both ways: every task of a session that has not ended is in its record, and every task there is one of it.
[[nodiscard]] Result<std::vector<Finding>> check_sessions(Store& store, FsckMode mode);

}  // namespace drover
