#include "worker/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "worker/unique_fd.h"

namespace drover {
namespace {

// Each pass stops what the one before could not see yet; something that still forks after so many is killed running.
constexpr int kFreezePassesMax = 20;

using Children = std::unordered_map<pid_t, std::vector<pid_t>>;

std::optional<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0) return std::nullopt;
  return pid;
}

// /proc/PID/stat is "PID (NAME) STATE PPID ..."; the name may hold anything, brackets too.
std::optional<pid_t> parent_of(const char* pid_text) {
  const std::string path = std::string("/proc/") + pid_text + "/stat";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return std::nullopt;
  std::array<char, 512> buffer;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  std::string_view stat(buffer.data(), static_cast<std::size_t>(size));
  const std::size_t bracket = stat.rfind(") ");
  if (bracket == std::string_view::npos || bracket + 4 >= stat.size()) return std::nullopt;
  stat.remove_prefix(bracket + 4);
  return parse_pid(stat.substr(0, stat.find(' ')));
}

Children read_children() {
  Children children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (proc == nullptr) return children;
  while (const dirent* entry = ::readdir(proc.get())) {
    const std::optional<pid_t> pid = parse_pid(entry->d_name);
    if (!pid) continue;
    const std::optional<pid_t> parent = parent_of(entry->d_name);
    if (parent) children[*parent].push_back(*pid);
  }
  return children;
}

std::vector<pid_t> beneath(const std::vector<pid_t>& roots) {
  const Children children = read_children();
  std::vector<pid_t> found = roots;
  std::unordered_set<pid_t> seen(roots.begin(), roots.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto entry = children.find(found[i]);
    if (entry == children.end()) continue;
    for (const pid_t child : entry->second) {
      if (seen.insert(child).second) found.push_back(child);
    }
  }
  return found;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> found = beneath({root});
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> children_of_self() {
  Children children = read_children();
  return std::move(children[::getpid()]);
}

void kill_trees(const std::vector<pid_t>& roots) {
  std::vector<pid_t> tree;
  std::unordered_set<pid_t> frozen;
  for (int pass = 0; pass < kFreezePassesMax; ++pass) {
    tree = beneath(roots);
    bool any_new = false;
    for (const pid_t pid : tree) {
      if (!frozen.insert(pid).second) continue;
      ::kill(pid, SIGSTOP);
      any_new = true;
    }
    if (!any_new) break;
  }
  for (const pid_t pid : tree) ::kill(pid, SIGKILL);
}

}  // namespace drover
