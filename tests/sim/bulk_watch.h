// What bulk operations promise, seen from outside: they reach all that they were meant for, once, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drover/bulk.h"
#include "sim/life.h"

namespace drover::sim {

class BulkWatch {
 public:
  // A user is about to start one: `why` names it, here and in everything that it does.
  void sent(const std::string& why, BulkVerb verb, const std::string& type, std::int64_t last_seq);
  // An event of no task. `lives` are the tasks as they are now.
  [[nodiscard]] std::optional<Wrong> take(const Event& event, const std::unordered_map<TaskId, Life>& lives);
  // An event of a task, before its life has taken it.
  [[nodiscard]] std::optional<Wrong> take(const Event& event, const Life& life);
  // Whether one was sent that may do this to the task.
  [[nodiscard]] bool may_have(BulkVerb verb, const Life& life) const;
  [[nodiscard]] int running() const;

 private:
  struct Sent {
    BulkVerb verb = BulkVerb::kCancel;
    std::string type;
    std::int64_t known_seq = 0;  // the user had seen all up to this event
    std::optional<std::int64_t> started_seq{};
    std::optional<std::int64_t> ended_seq{};
    std::set<TaskId> retried{};
  };

  [[nodiscard]] std::optional<Wrong> check_complete(const Sent& sent, const std::unordered_map<TaskId, Life>& lives);
  Sent* cause_of(const Event& event);

  std::map<std::string, Sent> sent_;           // by why
  std::map<std::string, std::string> why_of_;  // by operation
  std::map<TaskId, std::int64_t> enqueued_;    // number of that event
  std::map<TaskId, std::int64_t> last_;        // number of the last event
};

}  // namespace drover::sim
