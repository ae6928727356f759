#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

namespace fs = std::filesystem;

// What killed steps left, and the locks of workspaces that are gone or never came to be. Every workspace has had a
// lock.
void clear_up(const std::string& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    const auto task = entry.path().extension() == ".lock" ? TaskId::parse(entry.path().stem().string()) : std::nullopt;
    if (!task) continue;
    const Place place{root, *task};
    if (exists(place.folder())) continue;
    const auto alone = Lock::alone(root, *task);
    if (!alone) continue;
    const std::optional<Lock>& lock = *alone;
    if (!lock || exists(place.folder())) continue;
    const Status cleared = clear_leftovers(place, *lock);
    if (!cleared) {
      log_warn("workspace", "cannot delete what a step left", {{"error", to_string(cleared.error())}});
      continue;
    }
    lock->remove_file();
  }
}

class Reaping {
 public:
  Reaping(const std::string& root, const KeepPolicy& policy, Time now) : root_(root), policy_(policy), now_(now) {}

  Reaped run(const std::vector<TaskId>& tasks, const std::function<std::optional<Fate>(const TaskId&)>& fate_of) {
    std::vector<Workspace> ended;
    for (const TaskId& task : tasks) {
      const auto fate = fate_of(task);
      auto workspace = fate ? find(root_, task) : fail(ErrorCode::kNotFound, "");
      if (!workspace) continue;
      reaped_.bytes += workspace->bytes;
      if (fate == Fate::kUnfinished) continue;
      const Millis kept_for = fate == Fate::kCompleted ? policy_.completed : policy_.failed;
      if (now_ - workspace->used_at >= kept_for) {
        remove_one(*workspace);
      } else {
        ended.push_back(*std::move(workspace));
      }
    }
    std::ranges::sort(ended, {}, &Workspace::used_at);
    for (const Workspace& workspace : ended) {
      if (reaped_.bytes <= policy_.bytes_max) break;
      remove_one(workspace);
    }
    return std::move(reaped_);
  }

 private:
  void remove_one(const Workspace& workspace) {
    const auto removed = remove(root_, workspace.task);
    const bool is_gone = !removed && removed.error().code == ErrorCode::kNotFound;  // another worker was faster
    if (!is_gone && (!removed || !removed->saved)) {
      reaped_.kept.push_back({workspace.task, removed ? removed->why : removed.error().message});
      return;
    }
    if (!is_gone) reaped_.removed.push_back(workspace.task);
    reaped_.bytes -= workspace.bytes;
  }

  const std::string& root_;
  const KeepPolicy& policy_;
  Time now_;
  Reaped reaped_;
};

}  // namespace

Result<Reaped> reap(const std::string& root, const KeepPolicy& policy, Time now,
                    const std::function<std::optional<Fate>(const TaskId&)>& fate_of) {
  const auto place = Place::find(root, {});
  if (!place && place.error().code == ErrorCode::kNotFound) return Reaped{};
  const auto tasks = tasks_in(root);
  if (!place || !tasks) return std::unexpected((place ? tasks.error() : place.error()));
  clear_up(place->root);
  return Reaping(place->root, policy, now).run(*tasks, fate_of);
}

}  // namespace drover::workspace
