#include "worker/start_troubles.h"

#include <algorithm>

#include "base/log.h"

namespace drover {
namespace {

struct Pauses {
  Millis first;
  Millis longest;
};

// A program waits for somebody to install it; what is used up comes back when other processes end.
constexpr Pauses kProgramPauses{Millis{5'000}, Millis{60'000}};
constexpr Pauses kMachinePauses{Millis{250}, Millis{10'000}};
// After a machine's limits were reached, and not again for this long, all is as before.
constexpr Millis kProbation{5'000};
// How long the start of a program may take before another is tried.
constexpr Millis kTrialMax{5'000};
// How many tasks that name what is not here are told apart.
constexpr std::size_t kTasksMax = 10'000;

}  // namespace

void StartTroubles::cannot_run(const std::optional<std::string>& type, const std::string& why, MonoTime now) {
  const std::scoped_lock lock(mutex_);
  troubles_.erase({Unable::Kind::kMachine, std::nullopt});  // a process was started, or the program would be fine
  note({Unable::Kind::kProgram, type}, why, now);
}

void StartTroubles::cannot_run_task(const TaskId& task, const std::optional<std::string>& type, const std::string& why,
                                    MonoTime now) {
  const std::scoped_lock lock(mutex_);
  const Key key{Unable::Kind::kTask, type};
  note(key, why, now);
  if (auto& tasks = troubles_[key].tasks; tasks.size() < kTasksMax) tasks.insert(task);
}

void StartTroubles::cannot_start(const std::string& why, MonoTime now) {
  const std::scoped_lock lock(mutex_);
  note({Unable::Kind::kMachine, std::nullopt}, why, now);
}

void StartTroubles::note(const Key& key, const std::string& why, MonoTime now) {
  Trouble& trouble = troubles_[key];
  // What was claimed together fails together: that is one trouble, not many.
  if (now < trouble.until && !trouble.is_tried) return;
  const Pauses& pauses = key.first == Unable::Kind::kMachine ? kMachinePauses : kProgramPauses;
  trouble.why = why;
  trouble.pause = std::clamp(trouble.pause * 2, pauses.first, pauses.longest);
  trouble.until = now + trouble.pause;
  trouble.failed_at = now;
  trouble.is_tried = false;
  log_warn("worker",
           key.second ? "cannot run tasks of this type: they are given back, and no more are claimed"
                      : "cannot run tasks: they are given back, and no more are claimed",
           {{"type", key.second.value_or("all")}, {"why", why}, {"tries_again_in", format_duration(trouble.pause)}});
}

std::vector<StartTroubles::Key> StartTroubles::keys_of(const std::string& type) const {
  return {{Unable::Kind::kProgram, type},
          {Unable::Kind::kProgram, std::nullopt},
          {Unable::Kind::kMachine, std::nullopt},
          {Unable::Kind::kTask, type},
          {Unable::Kind::kTask, std::nullopt}};
}

void StartTroubles::trying(const std::string& type, MonoTime now) {
  const std::scoped_lock lock(mutex_);
  for (const Key& key : keys_of(type)) {
    const auto found = troubles_.find(key);
    if (found == troubles_.end() || now < found->second.until) continue;
    found->second.is_tried = true;
    found->second.until = now + kTrialMax;
  }
}

// Only a start that was a trial tells something: others may have begun before the trouble did.
bool StartTroubles::started(const std::string& type, MonoTime now) {
  const std::scoped_lock lock(mutex_);
  bool has_changed = false;
  for (const Key& key : keys_of(type)) {
    const auto found = troubles_.find(key);
    if (found == troubles_.end() || !found->second.is_tried) continue;
    has_changed = true;
    Trouble& trouble = found->second;
    trouble.is_tried = false;
    trouble.pause = Millis{0};
    trouble.until = now;
    if (key.first == Unable::Kind::kMachine && now - trouble.failed_at < kProbation) continue;
    troubles_.erase(found);
    log_info("worker", "programs start again", {{"type", type}});
  }
  return has_changed;
}

std::vector<Unable> StartTroubles::look(MonoTime now, const IsThere& is_there) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(troubles_, [&](const auto& item) {
    const auto& [key, trouble] = item;
    return trouble.pause == Millis{0} && now - trouble.failed_at >= kProbation;
  });
  std::vector<Unable> unable;
  for (auto& [key, trouble] : troubles_) {
    if (key.first == Unable::Kind::kProgram && now >= trouble.until && !is_there(key.second)) {
      trouble.pause = std::min(trouble.pause * 2, kProgramPauses.longest);
      trouble.until = now + trouble.pause;
    }
    unable.push_back({key.first, key.second, trouble.why, trouble.until, trouble.tasks.size()});
  }
  return unable;
}

}  // namespace drover
