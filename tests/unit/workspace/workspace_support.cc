#include "unit/workspace/workspace_support.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace drover::test {
namespace {

constexpr std::string_view kAgent = "git -c user.name=agent -c user.email=agent@example.org";

}  // namespace

std::string shell(const std::string& command) {
  FILE* pipe = ::popen(
      fmt::format("export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null; {{ {}\n}} 2>&1", command).c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string out;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), count);
  if (::pclose(pipe) != 0) throw std::runtime_error(command + ": " + out);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool succeeds(const std::string& command) {
  try {
    (void)shell(command);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

TaskId numbered_workspace(int n) {
  TaskId::Bytes bytes{};
  bytes.front() = 1;
  bytes[14] = static_cast<std::uint8_t>(n >> 8);
  bytes[15] = static_cast<std::uint8_t>(n);
  return TaskId(bytes);
}

void write_text(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

WorkspaceRoom::WorkspaceRoom() : repo_(dir_.file("repo")), root_(dir_.file("root")) {
  (void)shell(fmt::format("git init -q -b main {}", repo_));
  write_text(repo_ + "/README", "one\n");
  write_text(repo_ + "/src/deep/code.txt", "a\nb\nc\n");
  write_text(repo_ + "/.gitignore", "ignored\n*.o\nbuild/\n");
  (void)git("add . && git commit -q -m first && git tag v1");
  write_text(repo_ + "/README", "one\ntwo\n");
  (void)git("commit -q -a -m second && git update-ref refs/remotes/origin/next v1");
}

std::string WorkspaceRoom::git(const std::string& arguments) const {
  return shell(fmt::format("cd {} && {} {}", repo_,
                           "export GIT_AUTHOR_NAME=p GIT_AUTHOR_EMAIL=p@example.org GIT_COMMITTER_NAME=p "
                           "GIT_COMMITTER_EMAIL=p@example.org; git",
                           arguments));
}

std::string WorkspaceRoom::fingerprint() const {
  return shell(
      fmt::format("cd {} && sha256sum .git/config .git/index .git/HEAD && cat .git/config && "
                  "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum",
                  repo_));
}

ws::PrepareRequest WorkspaceRoom::request(int n, ws::Kind kind, const std::string& base) const {
  return {.root = root_, .task = numbered_workspace(n), .kind = kind, .repo = repo_, .base = base};
}

std::string WorkspaceRoom::agent(const ws::Prepared& workspace, const std::string& arguments) {
  return shell(fmt::format("cd {} && {} {}", workspace.path, kAgent, arguments));
}

void WorkspaceRoom::commit_all(const ws::Prepared& workspace, const std::string& message) {
  (void)agent(workspace, "add -A");
  (void)agent(workspace, "commit -q -m " + message);
}

std::string saved_ref(int n) {
  return "refs/drover/" + numbered_workspace(n).to_string();
}

std::string task_branch(int n) {
  return "drover/" + numbered_workspace(n).to_string();
}

}  // namespace drover::test
