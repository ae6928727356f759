#include "workspace/git.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "base/try.h"
#include "base/unique_fd.h"
#include "workspace/files.h"

namespace drover::workspace {
namespace {

constexpr std::size_t kComplaintMax = 1'000;

// Over the repository's own configuration. alternateRefsCommand: git would ask for the refs beside objects that it
// borrows by running git there, and we borrow an agent's objects.
constexpr std::array<const char*, 17> kSettings{
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "core.alternateRefsCommand=true",
    "core.pager=cat",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "fetch.fsckObjects=true",
    "worktree.useRelativePaths=false",
};

constexpr std::array<const char*, 15> kVariables{
    "LC_ALL=C",
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_CONFIG_GLOBAL=/dev/null",
    "GIT_ATTR_NOSYSTEM=1",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_NO_LAZY_FETCH=1",
    "GIT_DEFAULT_REF_FORMAT=files",
    "GIT_AUTHOR_NAME=Drover",
    "GIT_AUTHOR_EMAIL=drover@localhost",
    "GIT_COMMITTER_NAME=Drover",
    "GIT_COMMITTER_EMAIL=drover@localhost",
    "GIT_EDITOR=false",
    "GIT_ASKPASS=false",
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Files in memory instead of pipes: nobody has to read while git writes.
Result<UniqueFd> memory_file(std::string_view text = {}) {
  UniqueFd file(::memfd_create("git", MFD_CLOEXEC));
  if (!file.is_open()) return cannot("make", "a file in memory", errno);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
    if (written < 0) return cannot("write", "a file in memory", errno);
    done += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<std::string> contents(const UniqueFd& file) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return cannot("read", "git's output", errno);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count <= 0) return cannot("read", "git's output", errno);
    done += static_cast<std::size_t>(count);
  }
  return text;
}

std::string on_one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.size() > kComplaintMax) text.erase(0, text.size() - kComplaintMax);
  std::ranges::replace(text, '\n', ' ');
  return to_utf8(text);
}

class Spawning {
 public:
  Spawning() {
    CHECK(::posix_spawn_file_actions_init(&actions_) == 0 && ::posix_spawnattr_init(&attributes_) == 0);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    CHECK(::posix_spawnattr_setsigdefault(&attributes_, &all) == 0);
    CHECK(::posix_spawnattr_setsigmask(&attributes_, &none) == 0);
    CHECK(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) == 0);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;
  ~Spawning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // With the same number twice it only takes away close-on-exec.
  void give(int from, int to) { CHECK(::posix_spawn_file_actions_adddup2(&actions_, from, to) == 0); }
  void start_in(const std::string& folder) {
    CHECK(::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()) == 0);
  }

  Result<pid_t> start(std::vector<std::string> argv, std::vector<std::string> environment) {
    pid_t pid = -1;
    const int error =
        ::posix_spawnp(&pid, "git", &actions_, &attributes_, pointers(argv).data(), pointers(environment).data());
    if (error == ENOENT) return trouble("cannot start git: it is not in PATH; install it");
    if (error != 0) return cannot("start", "git", error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Result<int> wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return cannot("wait for", "git", errno);
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return trouble(fmt::format("git was killed by signal {}", WTERMSIG(status)));
}

}  // namespace

Git Git::discovering(const std::string& folder) {
  Git git;
  git.discover_in_ = folder;
  return git;
}

Git& Git::holding(int fd) {
  held_.push_back(fd);
  return *this;
}

Git& Git::durably() {
  durable_ = true;
  return *this;
}

std::vector<std::string> Git::environment() const {
  std::vector<std::string> environment(kVariables.begin(), kVariables.end());
  const char* path = std::getenv("PATH");
  environment.push_back(fmt::format("PATH={}", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"));
  if (!discover_in_.empty()) {
    const std::string above = std::filesystem::path(discover_in_).parent_path().string();
    environment.push_back("GIT_CEILING_DIRECTORIES=" + above);
  } else {
    environment.push_back("GIT_DIR=" + git_dir_);
    environment.push_back(fmt::format("GIT_INDEX_FILE={}/index", git_dir_));
  }
  if (!work_tree_.empty()) environment.push_back("GIT_WORK_TREE=" + work_tree_);
  return environment;
}

std::vector<std::string> Git::command_line(const Arguments& arguments) const {
  std::vector<std::string> argv{"git"};
  for (const char* setting : kSettings) argv.insert(argv.end(), {"-c", setting});
  if (durable_) argv.insert(argv.end(), {"-c", "core.fsync=all"});
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Result<GitOutput> Git::ask(const Arguments& arguments, std::string_view input) const {
  auto in = memory_file(input);
  auto out = memory_file();
  auto err = memory_file();
  for (const auto* file : {&in, &out, &err}) {
    if (!*file) return std::unexpected(file->error());
  }
  Spawning spawning;
  for (const int fd : held_) spawning.give(fd, fd);
  spawning.give(in->get(), STDIN_FILENO);
  spawning.give(out->get(), STDOUT_FILENO);
  spawning.give(err->get(), STDERR_FILENO);
  spawning.start_in(!discover_in_.empty() ? discover_in_ : !work_tree_.empty() ? work_tree_ : git_dir_);
  failpoint(Failpoint::kWorkspaceGit);
  const auto pid = TRY(spawning.start(command_line(arguments), environment()));
  failpoint(Failpoint::kWorkspaceGitRuns);
  const auto exit_code = TRY(wait_for(pid));
  auto output = contents(*out);
  auto complaint = contents(*err);
  if (!output || !complaint) return std::unexpected((output ? complaint : output).error());
  return GitOutput{exit_code, *std::move(output), on_one_line(*std::move(complaint))};
}

Result<std::string> Git::run(const Arguments& arguments, std::string_view input) const {
  auto output = TRY(ask(arguments, input));
  if (output.exit_code != 0)
    return trouble(
        fmt::format("git {} failed with exit code {}: {}", arguments.front(), output.exit_code, output.complaint));
  return std::move(output.out);
}

Result<std::string> Git::word(const Arguments& arguments, std::string_view input) const {
  auto text = run(arguments, input);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

}  // namespace drover::workspace
