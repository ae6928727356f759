// StartTroubles: what keeps a worker from starting programs. That is its machine's fault, never a task's: such a run is
// given back uncounted, and the worker takes no more of what it cannot run. After a pause it tries one task; another
// failure makes the next pause longer. A program that starts ends the trouble with it. Where the machine's limits were
// reached it goes on task by task for a while, so that it finds out how many there is room for.
//
// Safe to call from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "worker/runs.h"

namespace drover {

class StartTroubles {
 public:
  // A program is missing or cannot be executed. No type: it is the one for all types.
  void cannot_run(const std::optional<std::string>& type, const std::string& why, MonoTime now);
  // The task names what is not here; others of its type may not.
  void cannot_run_task(const TaskId& task, const std::optional<std::string>& type, const std::string& why,
                       MonoTime now);
  // Nothing can be started: descriptors, processes, memory or the disk are used up.
  void cannot_start(const std::string& why, MonoTime now);
  // A task of that type is about to start: until it is known how that went, no other is tried.
  void trying(const std::string& type, MonoTime now);
  // A program of that type runs. True if more may be tried than before.
  [[nodiscard]] bool started(const std::string& type, MonoTime now);

  using IsThere = std::function<bool(const std::optional<std::string>& type)>;
  // Programs that are still missing stay in trouble, so that no task is spent on them.
  [[nodiscard]] std::vector<Unable> look(MonoTime now, const IsThere& is_there);

 private:
  struct Trouble {
    std::string why;
    Millis pause{0};
    MonoTime until{};
    MonoTime failed_at{};
    bool is_tried = false;  // a start is under way that tells whether it is over
    std::set<TaskId> tasks{};
  };
  using Key = std::pair<Unable::Kind, std::optional<std::string>>;

  void note(const Key& key, const std::string& why, MonoTime now);  // with the lock held
  [[nodiscard]] std::vector<Key> keys_of(const std::string& type) const;

  mutable std::mutex mutex_;
  std::map<Key, Trouble> troubles_;
};

}  // namespace drover
