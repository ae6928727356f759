#include "workspace/obstacles.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "workspace/files.h"

namespace drover::workspace {
namespace {

class Walk {
 public:
  Walk(int top, TopGit top_git, const std::set<std::string>& submodules)
      : top_(top), top_git_(top_git), submodules_(submodules) {}

  std::vector<Obstacle> run() {
    waiting_.emplace_back();
    while (!waiting_.empty()) {
      const std::string path = std::move(waiting_.back());
      waiting_.pop_back();
      look_into(path);
    }
    return std::move(found_);
  }

 private:
  // One folder; "" is the top.
  void look_into(const std::string& path) {
    const UniqueFd folder = open_beneath(top_, path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
    const auto names = names_in(folder.get());
    if (!names) return add(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (submodules_.contains(path) && !names->empty())
      return add_always(path, "is a submodule, whose files are not part of a commit");
    for (const std::string& name : *names) {
      if (name != ".git") continue;
      if (!path.empty()) return add(path, "is a repository of its own");
      if (top_git_ == TopGit::kObstacle) return add_always(".git", "is a repository of its own");
    }
    for (const std::string& name : *names) {
      if (name != ".git") look_at(folder.get(), name, path.empty() ? name : path + "/" + name);
    }
  }

  void look_at(int folder, const std::string& name, const std::string& path) {
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return add(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (S_ISDIR(info.st_mode) && path.size() < PATH_MAX) return waiting_.push_back(path);
    if (S_ISDIR(info.st_mode)) return add(path, "has too long a path");
    if (S_ISLNK(info.st_mode)) return;
    if (!S_ISREG(info.st_mode)) return add(path, "is neither a file, a folder nor a symbolic link");
    if (::faccessat(folder, name.c_str(), R_OK, AT_EACCESS) != 0)
      add(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }

  void add(const std::string& path, std::string why) { found_.push_back({path, std::move(why), path.empty()}); }
  void add_always(const std::string& path, std::string why) { found_.push_back({path, std::move(why), true}); }

  int top_;
  TopGit top_git_;
  const std::set<std::string>& submodules_;
  std::vector<std::string> waiting_;
  std::vector<Obstacle> found_;
};

}  // namespace

Result<std::vector<Obstacle>> find_obstacles(const std::string& work, TopGit top_git,
                                             const std::set<std::string>& submodules) {
  const UniqueFd top = open_folder(work);
  if (!top.is_open()) return cannot("open", work, errno);
  return Walk(top.get(), top_git, submodules).run();
}

}  // namespace drover::workspace
