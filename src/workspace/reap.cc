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
    if (!alone || !*alone || exists(place.folder())) continue;
    const Status cleared = clear_leftovers(place, **alone);
    if (!cleared) {
      log_warn("workspace", "cannot delete what a step left", {{"error", to_string(cleared.error())}});
      continue;
    }
    (*alone)->remove_file();
  }
}

class Reaping {
 public:
  Reaping(const std::string& root, const KeepPolicy& policy, Time now) : root_(root), policy_(policy), now_(now) {}

  Reaped run(const std::vector<Workspace>& all, const std::function<Fate(const TaskId&)>& fate_of) {
    std::vector<const Workspace*> ended;
    for (const Workspace& workspace : all) {
      reaped_.bytes += workspace.bytes;
      const Fate fate = fate_of(workspace.task);
      if (fate == Fate::kUnfinished) continue;
      const Millis kept_for = fate == Fate::kCompleted ? policy_.completed : policy_.failed;
      if (now_ - workspace.used_at >= kept_for) {
        remove_one(workspace);
      } else {
        ended.push_back(&workspace);
      }
    }
    std::ranges::sort(ended, {}, &Workspace::used_at);
    for (const Workspace* workspace : ended) {
      if (reaped_.bytes <= policy_.bytes_max) break;
      remove_one(*workspace);
    }
    return std::move(reaped_);
  }

 private:
  void remove_one(const Workspace& workspace) {
    const auto removed = remove(root_, workspace.task);
    if (!removed || !removed->saved) {
      reaped_.kept.push_back({workspace.task, removed ? removed->why : removed.error().message});
      return;
    }
    reaped_.removed.push_back(workspace.task);
    reaped_.bytes -= workspace.bytes;
  }

  const std::string& root_;
  const KeepPolicy& policy_;
  Time now_;
  Reaped reaped_;
};

}  // namespace

Result<Reaped> reap(const std::string& root, const KeepPolicy& policy, Time now,
                    const std::function<Fate(const TaskId&)>& fate_of) {
  const auto place = Place::find(root, {});
  if (!place && place.error().code == ErrorCode::kNotFound) return Reaped{};
  const auto all = list(root);
  if (!place || !all) return std::unexpected((place ? all.error() : place.error()));
  clear_up(place->root);
  return Reaping(place->root, policy, now).run(*all, fate_of);
}

}  // namespace drover::workspace
