// A repository of a test's own, workspaces from it, and what an agent does in them: real git, real files.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "drover/ids.h"
#include "support/must.h"
#include "support/temp_dir.h"
#include "workspace/workspace.h"

namespace drover::test {

namespace ws = drover::workspace;

// Its output without the newline at the end; throws if it fails. The shell has no configuration of ours.
std::string shell(const std::string& command);
// Whether it succeeds.
bool succeeds(const std::string& command);

// How tests that run for several kinds are told apart.
inline std::string kind_of_test(const testing::TestParamInfo<ws::Kind>& test) {
  return std::string(name_of(test.param));
}

TaskId numbered_workspace(int n);
void write_text(const std::string& path, std::string_view text);
std::string read_text(const std::string& path);

// A repository with branch main of two commits, tag v1, remote branch origin/next, and a root for workspaces.
class WorkspaceRoom {
 public:
  WorkspaceRoom();

  [[nodiscard]] const std::string& repo() const { return repo_; }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string file(std::string_view name) const { return dir_.file(name); }
  // git in the repository, as a person would call it.
  [[nodiscard]] std::string git(const std::string& arguments) const;
  [[nodiscard]] std::string commit_of(const std::string& name) const { return git("rev-parse " + name + "^{commit}"); }
  // What Drover must never change: configuration, index and working tree.
  [[nodiscard]] std::string fingerprint() const;

  [[nodiscard]] ws::PrepareRequest request(int n, ws::Kind kind, const std::string& base = "HEAD") const;
  ws::Prepared prepare(int n, ws::Kind kind) const { return must(ws::prepare(request(n, kind))); }
  // The agent's git in a workspace.
  static std::string agent(const ws::Prepared& workspace, const std::string& arguments);
  static void commit_all(const ws::Prepared& workspace, const std::string& message);

 private:
  TempDir dir_;
  std::string repo_;
  std::string root_;
};

[[nodiscard]] std::string saved_ref(int n);
[[nodiscard]] std::string task_branch(int n);

}  // namespace drover::test
