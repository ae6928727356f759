// One task's way through the event log, judged by the life of a task as it is documented.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history/check.h"

namespace drover::history {

class EventWalk {
 public:
  explicit EventWalk(const std::vector<const LoggedEvent*>& events);

  using Finding = std::pair<Broken, std::string>;
  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

  // Where the events end; nothing if there are none.
  [[nodiscard]] std::optional<TaskState> state() const { return state_; }
  [[nodiscard]] int last_run() const { return last_run_; }
  [[nodiscard]] int generation() const { return generation_; }
  [[nodiscard]] bool deleted() const { return deleted_; }
  [[nodiscard]] std::int64_t leases_lost() const { return leases_lost_; }
  [[nodiscard]] bool was_claimed(int run) const { return claims_.contains(run); }
  // Whether that run was claimed after the task had been opened again, and not been cancelled since.
  [[nodiscard]] bool was_reopened_before(int run) const;

 private:
  void take(const LoggedEvent& event);
  void check_order(const LoggedEvent& event);
  void claim(const LoggedEvent& event);
  void close_run(const LoggedEvent& event);
  void report(Broken kind, const LoggedEvent& event, std::string_view what);

  std::vector<Finding> findings_;
  std::optional<TaskState> state_;
  int last_run_ = 0;
  int open_run_ = 0;  // 0: no lease is out
  int generation_ = 1;
  bool cancel_requested_ = false;  // in this generation
  bool reopened_ = false;          // and not cancelled since
  bool deleted_ = false;
  bool just_suspended_ = false;  // in the event before
  std::int64_t leases_lost_ = 0;
  std::map<int, bool> claims_;  // run, and whether the task was reopened_ at its claim
};

}  // namespace drover::history
