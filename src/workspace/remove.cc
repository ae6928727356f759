#include "base/failpoint.h"
#include "base/try.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {

Result<Saved> remove(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  if (!exists(place.folder()) && !exists(place.gone()))
    return fail(ErrorCode::kNotFound, "the task has no workspace here", "workspace");
  const auto alone = TRY(Lock::alone(place.root, place.task));
  if (!alone)
    return fail(ErrorCode::kWrongState, "the workspace is in use; wait until the task's run ends", "workspace");
  const Lock& lock = *alone;
  TRY(clear_leftovers(place, lock));
  Saved saved{.saved = true, .why = {}, .commit = {}};
  if (exists(place.folder())) {
    auto result = save_under(place, lock);
    if (!result || !result->saved) return result;
    saved = *std::move(result);
    failpoint(Failpoint::kWorkspaceRemove);
    TRY(rename_file(place.folder(), place.gone()));
    TRY(erase(place, place.gone(), lock));
  }
  lock.remove_file();
  return saved;
}

}  // namespace drover::workspace
