#include "worker/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/unique_fd.h"

namespace drover {
namespace {

// Each pass stops what the one before could not see yet; something that still forks after so many is killed running.
constexpr int kFreezePassesMax = 20;

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};
using ByParent = std::unordered_map<pid_t, std::vector<Process>>;

std::optional<pid_t> parse_pid(std::string_view text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid < 0) return std::nullopt;
  return pid;
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

// /proc/PID/stat is "PID (NAME) STATE PPID PGRP ..."; the name may hold anything, brackets too.
std::optional<Process> read_process(const char* pid_text) {
  const std::optional<pid_t> pid = parse_pid(pid_text);
  if (!pid) return std::nullopt;
  const std::string path = std::string("/proc/") + pid_text + "/stat";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return std::nullopt;
  std::array<char, 512> buffer;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  std::string_view stat(buffer.data(), static_cast<std::size_t>(size));
  stat.remove_prefix(std::min(stat.size(), stat.rfind(") ") + 2));
  take_word(stat);  // its state
  const std::optional<pid_t> parent = parse_pid(take_word(stat));
  const std::optional<pid_t> group = parse_pid(take_word(stat));
  if (!parent || !group) return std::nullopt;
  return Process{*pid, *parent, *group};
}

ByParent read_processes() {
  ByParent processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (proc == nullptr) return processes;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (const auto process = read_process(entry->d_name)) processes[process->parent].push_back(*process);
  }
  return processes;
}

// What is beneath the given processes, them included.
std::vector<Process> with_descendants(std::vector<Process> found, const ByParent& processes) {
  std::unordered_set<pid_t> seen;
  for (const Process& process : found) seen.insert(process.pid);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto children = processes.find(found[i].pid);
    if (children == processes.end()) continue;
    for (const Process& child : children->second) {
      if (seen.insert(child.pid).second) found.push_back(child);
    }
  }
  return found;
}

std::vector<Process> own_children(const ByParent& processes, const std::set<pid_t>& spared) {
  const auto found = processes.find(::getpid());
  if (found == processes.end()) return {};
  std::vector<Process> children = found->second;
  std::erase_if(children, [&](const Process& child) { return spared.contains(child.pid); });
  return children;
}

void signal_all(const std::vector<Process>& processes, int signal) {
  std::unordered_set<pid_t> groups;
  for (const Process& process : processes) {
    const bool is_ours = process.group == ::getpgrp();
    if (process.group > 1 && !is_ours && groups.insert(process.group).second) ::killpg(process.group, signal);
  }
  for (const Process& process : processes) ::kill(process.pid, signal);
}

bool has_variable(pid_t pid, std::string_view variable) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string found; std::getline(file, found, '\0');) {
    if (found == variable) return true;
  }
  return false;
}

std::vector<Process> with_variable(const ByParent& processes, std::string_view variable) {
  std::vector<Process> found;
  for (const auto& [parent, children] : processes) {
    std::ranges::copy_if(children, std::back_inserter(found), [&](const Process& process) {
      return process.pid != ::getpid() && has_variable(process.pid, variable);
    });
  }
  return found;
}

// What `roots` finds and all that is beneath it. Whether there was anything.
template <class Roots>
bool freeze_and_kill(Roots roots) {
  std::vector<Process> tree;
  std::unordered_set<pid_t> frozen;
  for (int pass = 0; pass < kFreezePassesMax; ++pass) {
    const ByParent processes = read_processes();
    tree = with_descendants(roots(processes), processes);
    const auto is_frozen = [&](const Process& process) { return frozen.contains(process.pid); };
    if (std::ranges::all_of(tree, is_frozen)) break;
    signal_all(tree, SIGSTOP);
    for (const Process& process : tree) frozen.insert(process.pid);
  }
  signal_all(tree, SIGKILL);
  return !tree.empty();
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> pids;
  for (const Process& process : with_descendants({{root, 0, 0}}, read_processes())) {
    if (process.pid != root) pids.push_back(process.pid);
  }
  return pids;
}

std::vector<pid_t> children_of_self(const std::set<pid_t>& spared) {
  std::vector<pid_t> pids;
  for (const Process& child : own_children(read_processes(), spared)) pids.push_back(child.pid);
  return pids;
}

void kill_children_of_self(const std::set<pid_t>& spared) {
  freeze_and_kill([&](const ByParent& processes) { return own_children(processes, spared); });
}

bool any_with_variable(std::string_view variable) {
  return !with_variable(read_processes(), variable).empty();
}

bool kill_with_variable(std::string_view variable) {
  return freeze_and_kill([&](const ByParent& processes) { return with_variable(processes, variable); });
}

}  // namespace drover
