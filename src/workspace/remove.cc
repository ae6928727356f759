#include "base/failpoint.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {

Result<Saved> remove(const std::string& root, const TaskId& task) {
  const auto place = Place::find(root, task);
  if (!place) return std::unexpected(place.error());
  if (!exists(place->folder()) && !exists(place->gone()))
    return fail(ErrorCode::kNotFound, "the task has no workspace here", "workspace");
  const auto alone = Lock::alone(place->root, place->task);
  if (!alone) return std::unexpected(alone.error());
  if (!*alone)
    return fail(ErrorCode::kWrongState, "the workspace is in use; wait until the task's run ends", "workspace");
  const Lock& lock = **alone;
  if (auto cleared = clear_leftovers(*place, lock); !cleared) return std::unexpected(cleared.error());
  Saved saved{.saved = true, .why = {}, .commit = {}};
  if (exists(place->folder())) {
    auto result = save_under(*place, lock);
    if (!result || !result->saved) return result;
    saved = *std::move(result);
    failpoint(Failpoint::kWorkspaceRemove);
    if (auto renamed = rename_file(place->folder(), place->gone()); !renamed) return std::unexpected(renamed.error());
    if (auto erased = erase(*place, place->gone(), lock); !erased) return std::unexpected(erased.error());
  }
  lock.remove_file();
  return saved;
}

}  // namespace drover::workspace
