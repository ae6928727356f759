// Who uses a workspace or a repository. The kernel gives a lock back when its last holder is gone; git processes that a
// step started hold its lock, too, so that the step after a kill waits for them.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "drover/error.h"
#include "drover/ids.h"

namespace drover::workspace {

class Lock {
 public:
  // Held while a task runs: the workspace is not removed. Waits while it is being removed.
  [[nodiscard]] static Result<Lock> use(const std::string& root, const TaskId& task);
  // The same without waiting: nothing while it is being removed.
  [[nodiscard]] static Result<std::optional<Lock>> try_use(const std::string& root, const TaskId& task);
  // As use(), and no other step of this task is at work.
  [[nodiscard]] static Result<Lock> step(const std::string& root, const TaskId& task);
  // Nobody else uses it; nothing if somebody does.
  [[nodiscard]] static Result<std::optional<Lock>> alone(const std::string& root, const TaskId& task);
  // One change of a repository at a time.
  [[nodiscard]] static Result<Lock> repository(const std::string& git_dir);

  [[nodiscard]] int fd() const { return file_.get(); }
  // The workspace was used now (Workspace::used_at).
  void touch() const;
  // The file, when the workspace is gone. Only for the one who is alone.
  void remove_file() const;

 private:
  [[nodiscard]] static Result<std::optional<Lock>> without_waiting(const std::string& root, const TaskId& task,
                                                                   short type);
  Lock(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  UniqueFd file_;
  std::string path_;
};

[[nodiscard]] std::string lock_path(const std::string& root, const TaskId& task);

}  // namespace drover::workspace
