// Workspaces: each task works in a folder of its own, its commits reach the repository, and no work is ever lost.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "e2e/e2e_test.h"
#include "e2e/git_repo.h"

namespace drover::e2e {
namespace {

namespace fs = std::filesystem;

class WorkspaceTest : public E2eTest {
 protected:
  WorkspaceTest() : repo(sandbox.file("site")) {
    fs::create_directory(sandbox.file("bin"));
    fs::create_symlink(DROVER_SOURCE_DIR "/tests/agents/fake_agent.py", sandbox.file("bin/claude"));
    sandbox.set("PATH", fmt::format("{}:/usr/bin:/bin", sandbox.file("bin")));
  }

  // drover.yaml with the repository `site` and one profile for the type `fix`, trusted.
  void write_profile(const std::string& workspace, const std::string& repo_fields = "", const std::string& more = "") {
    sandbox.write_file("drover.yaml", fmt::format("local:\n  repos: {{site: {{path: {}{}}}}}\n  runners:\n"
                                                  "    fix: {{preset: claude, workspace: {{{}}}{}}}\n",
                                                  repo.path(), repo_fields, workspace, more));
    sandbox.must({"trust", "drover.yaml"});
  }
  static Arguments work(const Arguments& more = {}) {
    Arguments arguments{"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string enqueue(const std::string& prompt, const Arguments& more = {}) {
    Arguments arguments{"fix", "--prompt", prompt, "--retry", "fixed:1ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox.enqueue(arguments);
  }
  // The task with that prompt, after a worker has done all that it could.
  json::Value after_work(const std::string& prompt, const Arguments& more = {}) {
    id_ = enqueue(prompt, more);
    const Outcome worked = sandbox.drover(work({"--until-empty"}), {}, Millis{60'000});
    EXPECT_EQ(worked.exit_code, 0) << worked.err;
    return sandbox.show(id_);
  }
  static std::string commit(const std::string& message) {
    return fmt::format("git add -A && {} commit -q -m {}", kAgentGit, message);
  }
  static std::string error_class(const json::Value& task) { return at(*task.find("error"), "class"); }
  static std::string error_message(const json::Value& task) { return at(*task.find("error"), "message"); }
  // Of the only store that has workspaces in the folder.
  static std::string root_in(const std::string& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) return entry.path().string();
    return folder + "/none";
  }
  [[nodiscard]] std::string root() const { return root_in(sandbox.file("state/drover/workspaces")); }
  [[nodiscard]] std::string folder() const { return fmt::format("{}/{}", root(), id_); }
  [[nodiscard]] std::string work_folder() const { return folder() + "/work"; }
  [[nodiscard]] std::string kept_ref() const { return "refs/drover/" + id_; }
  [[nodiscard]] std::string transcript() const { return sandbox.must({"transcript", "--json", id_}); }
  // Whether the worker gets so far; it must not end.
  template <class Condition>
  static bool becomes_true(Process& worker, Condition condition) {
    const Millis end = mono_now() + kHangs;
    while (!condition()) {
      if (mono_now() > end || worker.wait(Millis{20})) return false;
    }
    return true;
  }

  GitRepo repo;
  std::string id_;
};

TEST_F(WorkspaceTest, ATaskWorksInACloneAndItsBranchIsInTheResult) {
  write_profile("repo: site");
  const std::string before = repo.git("rev-parse main");
  const json::Value task = after_work("do: run echo new > new.txt && " + commit("one") + "\ndo: say Fixed.");
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  const json::Value& result = *task.find("result");
  const std::string branch = "drover/" + id_;
  EXPECT_EQ(at(result, "answer"), "Fixed.");
  EXPECT_EQ(at(result, "branch"), branch);
  EXPECT_EQ(at(result, "base"), before);
  EXPECT_EQ(at(result, "commit"), repo.git("rev-parse refs/heads/" + branch));
  EXPECT_EQ(at(result, "commits"), "1");
  EXPECT_EQ(at(result, "files"), "1");
  EXPECT_EQ(at(result, "insertions"), "1");
  EXPECT_EQ(at(result, "deletions"), "0");
  EXPECT_EQ(repo.git("show refs/heads/" + branch + ":new.txt"), "new");
  EXPECT_EQ(repo.git("rev-parse main"), before);
  EXPECT_EQ(repo.git("status --porcelain"), "");
}

TEST_F(WorkspaceTest, ACommandWorksThereToo) {
  write_profile("kind: none");
  sandbox.write_file("agent", "#!/bin/sh\ncat README; pwd >&2; echo changed >> README\n");
  fs::permissions(sandbox.file("agent"), fs::perms::owner_all);
  const std::string id = sandbox.enqueue({"any", "--repo", "site"});
  sandbox.must({"work", "--type", "any", "--until-empty", "--", "./agent"});
  const json::Value task = sandbox.show(id);
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(*task.find("result"), "answer"), "one\n");
  EXPECT_EQ(at(*task.find("result"), "commits"), "0");
  EXPECT_TRUE(contains(sandbox.must({"logs", id}), fmt::format("{}/{}/work", root(), id)));
}

TEST_F(WorkspaceTest, EachKindHasItsFolder) {
  for (const char* kind : {"worktree", "directory"}) {
    const bool is_directory = std::string_view(kind) == "directory";
    write_profile(fmt::format("kind: {}{}, path: {}", kind, is_directory ? "" : ", repo: site", sandbox.file("ws")));
    const json::Value task = after_work("do: run ls; pwd\ndo: say Done.");
    ASSERT_EQ(at(task, "state"), "completed") << kind << at(task, "error");
    EXPECT_TRUE(contains(transcript(), fmt::format("{}/{}/work", root_in(sandbox.file("ws")), id_))) << kind;
    EXPECT_EQ(transcript().contains("README"), !is_directory) << kind;
    EXPECT_EQ(at(task, "result") == "Done.", is_directory) << kind;
  }
}

TEST_F(WorkspaceTest, ARetryFindsWhatTheLastRunLeft) {
  write_profile("repo: site, setup: [/bin/sh, -c, 'echo once >> ../../../../../../set_up']");
  const json::Value task = after_work(
      "do: in-run 1 run echo half-done > half.txt\ndo: in-run 1 exit 1\ndo: in-run 2 run cat half.txt\ndo: say Done.");
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "attempts"), "2");
  EXPECT_TRUE(contains(transcript(), R"(half-done)"));
  std::ifstream set_up(sandbox.file("set_up"));
  std::string line;
  EXPECT_TRUE(std::getline(set_up, line) && !std::getline(set_up, line)) << "it is set up once";
}

// The next run's prompt begins with what the command said.
TEST_F(WorkspaceTest, AFailedSetupIsAFailureWithItsLastWords) {
  write_profile("repo: site, setup: [/bin/sh, -c, 'test -e .retry || { touch .retry; echo no compiler; exit 3; }']");
  const json::Value task = after_work("do: prompt");
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "attempts"), "2");
  EXPECT_TRUE(contains(transcript(), "which sets the workspace up, ended with exit code 3"));
  EXPECT_TRUE(contains(transcript(), "no compiler"));
}

TEST_F(WorkspaceTest, ProgramsOfTheRepositorySetUpAndCheck) {
  sandbox.write_file("site/dev", "#!/bin/sh\ntest \"$1\" = setup && exec touch .set-up\ntest -e .set-up\n");
  fs::permissions(sandbox.file("site/dev"), fs::perms::owner_all);
  repo.git(fmt::format("add dev && cd {} && {} commit -q -m dev", repo.path(), kAgentGit));
  write_profile("repo: site, setup: [./dev, setup]", "", ", verify: {argv: [./dev, test]}");
  const json::Value task = after_work("do: say Done.");
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
  // One that is gone is the task's trouble: the type goes on.
  const json::Value without = after_work("do: run rm dev", {"--max-attempts", "1"});
  EXPECT_EQ(error_class(without), "spawn_failed");
}

TEST_F(WorkspaceTest, NothingThatAnAgentConfiguresInItsGitRuns) {
  write_profile("repo: site, keep: {completed: 0s}");
  const std::string marker = sandbox.file("marker");
  const std::string hostile = fmt::format(
      "printf '#!/bin/sh\\ntouch {0}\\n' > evil && chmod +x evil && for h in reference-transaction post-checkout "
      "pre-commit "
      "post-index-change pre-auto-gc; do cp evil .git/hooks/$h 2>/dev/null || {{ mkdir -p .git/hooks; cp evil "
      ".git/hooks/$h; }}; done; echo '* filter=evil diff=evil' > .gitattributes; echo x > x.txt",
      marker);
  const std::string configure =
      "git config core.fsmonitor $PWD/evil; git config filter.evil.clean $PWD/evil; git config filter.evil.smudge "
      "$PWD/evil; git config diff.evil.textconv $PWD/evil; git config diff.external $PWD/evil; git config "
      "core.hooksPath $PWD/.git/hooks; git config uploadpack.packObjectsHook $PWD/evil";
  id_ = enqueue("do: run " + hostile + "\ndo: run " + configure + "\ndo: run rm -f " + marker + "\ndo: say Done.");
  const auto worker = sandbox.start(work());
  ASSERT_TRUE(becomes_true(*worker, [&] { return sandbox.state_of(id_) == "completed"; })) << worker->errors();
  (void)sandbox.drover({"workspace", "diff", id_});
  EXPECT_TRUE(becomes_true(*worker, [&] { return !fs::exists(folder()); })) << worker->errors();
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_EQ(repo.git(fmt::format("show {}:x.txt", kept_ref())), "x");
  for (const char* base : {"--base=--upload-pack=x", "--base=main~1", "--base=:/first"}) {
    expect_refused(sandbox.drover({"enqueue", "fix", "--prompt", "x", base}), 1, "invalid_argument");
  }
}

TEST_F(WorkspaceTest, EveryByteOfADirtyWorkspaceIsSavedBeforeItGoes) {
  write_profile("repo: site, keep: {failed: 0s}");
  id_ = enqueue("do: run echo committed > a && " + commit("a") + " && git checkout -q -b side && echo side > c && " +
                    commit("side") + " && echo dirty > b && echo change >> README && echo no > ignored\ndo: exit 1",
                {"--max-attempts", "1"});
  const auto worker = sandbox.start(work());
  const auto is_reaped = [&] { return sandbox.state_of(id_) == "failed" && !fs::exists(folder()); };
  ASSERT_TRUE(becomes_true(*worker, is_reaped)) << worker->errors();
  const std::vector<std::pair<std::string, std::string>> saved{
      {"a", "committed"}, {"b", "dirty"}, {"README", "one\nchange"}, {"c", "side"}};
  for (const auto& [file, text] : saved) EXPECT_EQ(repo.git(fmt::format("show {}:{}", kept_ref(), file)), text);
  EXPECT_THROW(repo.git(fmt::format("show {}:ignored", kept_ref())), std::runtime_error);
  EXPECT_EQ(repo.git("fsck --strict"), "");
}

TEST_F(WorkspaceTest, ANestedRepositoryKeepsTheWorkspace) {
  write_profile("repo: site");
  id_ = enqueue("do: run git init -q nested && echo x > nested/x\ndo: say Done.");
  const auto worker = sandbox.start(work());
  ASSERT_TRUE(becomes_true(*worker, [&] { return worker->errors().contains("is a repository of its own"); }))
      << worker->errors();
  EXPECT_TRUE(fs::exists(work_folder() + "/nested/x"));
  const Outcome refused = sandbox.drover({"workspace", "remove", id_});
  expect_refused(refused, 6, "wrong_state");
  EXPECT_TRUE(contains(refused.err, "nested"));
}

TEST_F(WorkspaceTest, TheWorkOfOthersIsRefused) {
  write_profile("base: main", ", owners: [team-a]");
  for (const char* base : {"refs/drover/other", "drover/other", "refs/heads/drover/other"}) {
    expect_refused(sandbox.drover({"enqueue", "fix", "--prompt", "x", "--repo", "site", "--base", base}), 1,
                   "invalid_argument");
  }
  const json::Value foreign = after_work("do: say Done.", {"--repo", "site", "--owner", "team-b"});
  EXPECT_EQ(error_class(foreign), "invalid");
  EXPECT_TRUE(contains(error_message(foreign), "not open to owner team-b"));
  EXPECT_TRUE(contains(error_message(foreign), "local.repos.site.owners"));
  EXPECT_EQ(at(foreign, "attempts"), "1");
  EXPECT_EQ(at(after_work("do: say Done.", {"--repo", "site", "--owner", "team-a"}), "state"), "completed");
}

// A full id will do, if a branch or tag that is nobody's work reaches the commit.
TEST_F(WorkspaceTest, ACommitIsABase) {
  write_profile("repo: site");
  const std::string first = repo.git("rev-parse main");
  const std::string commit_empty = "-c user.name=a -c user.email=a@example.org commit -q --allow-empty -m empty";
  repo.git(commit_empty);
  repo.git("checkout -q --detach");
  repo.git(commit_empty);
  repo.git("branch drover/other");
  repo.git("checkout -q main");
  const json::Value task = after_work("do: say Done.", {"--base", first});
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(*task.find("result"), "base"), first);
  const json::Value foreign = after_work("do: say Done.", {"--base", repo.git("rev-parse drover/other")});
  EXPECT_EQ(error_class(foreign), "invalid");
  EXPECT_TRUE(contains(error_message(foreign), "apart from the work of other tasks"));
}

TEST_F(WorkspaceTest, ABaseThatIsNotThereIsTheTasksFault) {
  write_profile("repo: site");
  const json::Value task = after_work("do: say Done.", {"--base", "no-such-branch"});
  EXPECT_EQ(error_class(task), "invalid");
  EXPECT_TRUE(contains(error_message(task), "names no commit"));
}

TEST_F(WorkspaceTest, ARepositoryThatIsNotThereIsTheWorkersFault) {
  write_profile("repo: site");
  fs::remove_all(repo.path());
  id_ = enqueue("do: say Done.", {"--at-most-once"});
  EXPECT_EQ(sandbox.drover(work({"--until-empty"}), {}, Millis{60'000}).exit_code, 1);
  const json::Value task = sandbox.show(id_);
  EXPECT_EQ(at(task, "state"), "pending");
  EXPECT_EQ(at(task, "attempts"), "0");
}

// Another worker may have it. Tasks of its type that name another one go on.
TEST_F(WorkspaceTest, ATaskForARepositoryThatIsNotHereIsGivenBack) {
  write_profile("base: HEAD");
  sandbox.write_file("drover.yaml",
                     fmt::format("local:\n  repos: {{site: {{path: {}}}, lost: {{path: {}}}}}\n  runners:\n"
                                 "    fix: {{preset: claude}}\n",
                                 repo.path(), sandbox.file("nowhere")));
  sandbox.must({"trust", "drover.yaml"});
  const std::string unknown = enqueue("do: say Done.", {"--repo", "other", "--at-most-once"});
  const std::string missing = enqueue("do: say Done.", {"--repo", "lost"});
  const std::string good = enqueue("do: say Done.", {"--repo", "site"});
  const Outcome worked = sandbox.drover(work({"--until-empty"}), {}, Millis{60'000});
  EXPECT_EQ(worked.exit_code, 1);
  EXPECT_TRUE(contains(worked.err, "knows no repository other"));
  EXPECT_TRUE(contains(worked.err, "cannot be used as a repository"));
  EXPECT_EQ(sandbox.state_of(good), "completed");
  for (const std::string& id : {unknown, missing}) {
    const json::Value task = sandbox.show(id);
    EXPECT_EQ(at(task, "state"), "pending");
    EXPECT_EQ(at(task, "attempts"), "0");
  }
}

TEST_F(WorkspaceTest, AWorkerWhoseAgentDeletesItsFolderGoesOn) {
  write_profile("repo: site");
  const json::Value task = after_work("do: run rm -rf $PWD\ndo: say Done.", {"--max-attempts", "2"});
  EXPECT_EQ(at(task, "state"), "failed");
  EXPECT_EQ(error_class(task), "agent_error");
  EXPECT_EQ(at(after_work("do: say Done."), "state"), "completed");
}

TEST_F(WorkspaceTest, CommandsShowAndRemoveWorkspaces) {
  write_profile("repo: site, keep: {completed: 1h}");
  EXPECT_EQ(sandbox.must({"workspace", "list", "--json"}), "[]\n");
  after_work("do: run echo new > new.txt\ndo: say Done.");
  const json::Value list = sandbox.must_json({"workspace", "list", "--json"});
  ASSERT_EQ(list.as_array()->size(), 1U);
  EXPECT_EQ(at(list.as_array()->front(), "task_id"), id_);
  EXPECT_EQ(at(list.as_array()->front(), "kind"), "clone");
  EXPECT_EQ(sandbox.must({"workspace", "path", id_}), work_folder() + "\n");
  EXPECT_TRUE(contains(sandbox.must({"workspace", "diff", id_}), "+new"));
  EXPECT_TRUE(contains(at(sandbox.must_json({"workspace", "diff", id_, "--json"}), "diff"), "+new"));
  EXPECT_EQ(at(sandbox.must_json({"workspace", "remove", id_, "--json"}), "ref"), kept_ref());
  EXPECT_EQ(repo.git(fmt::format("show {}:new.txt", kept_ref())), "new");
  expect_refused(sandbox.drover({"workspace", "path", id_}), 5, "not_found");
}

TEST_F(WorkspaceTest, AWorkerTellsHowMuchItsWorkspacesTake) {
  write_profile("repo: site, keep: {completed: 1h}");
  after_work("do: run head -c 300000 /dev/urandom > big\ndo: say Done.");
  const auto worker = sandbox.start(work());
  EXPECT_TRUE(becomes_true(*worker, [this] {
    const json::Value workers = *sandbox.must_json({"stats", "--json"}).find("workers");
    return workers.find("workspace_bytes")->as_int().value_or(0) >= 300'000;
  }));
}

// Task ids are not unique over stores: a dump may be loaded into another one.
TEST_F(WorkspaceTest, StoresDoNotTouchEachOthersWorkspaces) {
  write_profile("repo: site, keep: {completed: 1h}");
  id_ = enqueue("do: run echo mine >> mine.txt; cat mine.txt\ndo: say Done.");
  std::string dump = sandbox.must({"export"});
  const std::string marker = R"("epochs":[{"number":1,"id":")";
  dump.replace(dump.find(marker) + marker.size(), 16, "0123456789abcdef");
  const Outcome first = sandbox.drover(work({"--until-empty"}), {}, Millis{60'000});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string ours = work_folder();
  sandbox.set("DROVER_STORE", "sqlite:" + sandbox.file("other.db"));
  sandbox.must({"import", "-"}, dump);
  EXPECT_EQ(sandbox.must({"workspace", "list", "--json"}), "[]\n");
  for (const char* verb : {"path", "diff", "remove"})
    expect_refused(sandbox.drover({"workspace", verb, id_}), 5, "not_found");
  const Outcome second = sandbox.drover(work({"--until-empty"}), {}, Millis{60'000});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(sandbox.state_of(id_), "completed");
  EXPECT_FALSE(transcript().contains(R"(mine\nmine)")) << "it has a folder of its own";
  EXPECT_EQ(sandbox.must_json({"workspace", "list", "--json"}).as_array()->size(), 1U);
  EXPECT_EQ(sandbox.must_json({"workspace", "list", "--all", "--json"}).as_array()->size(), 2U);
  sandbox.must({"workspace", "remove", id_});
  EXPECT_TRUE(fs::exists(ours + "/mine.txt"));
  EXPECT_EQ(
      sandbox.must({"workspace", "path", id_, "--of", fs::path(ours).parent_path().parent_path().filename().string()}),
      ours + "\n");
  sandbox.set("DROVER_STORE", sandbox.store_url());
  EXPECT_EQ(sandbox.must({"workspace", "path", id_}), ours + "\n");
}

TEST_F(WorkspaceTest, ADeletedWorkspaceIsToldAndCanBeRemoved) {
  write_profile("repo: site, keep: {completed: 1h}");
  after_work("do: say Done.");
  fs::remove_all(work_folder());
  for (const char* verb : {"path", "diff"}) {
    const Outcome told = sandbox.drover({"workspace", verb, id_});
    expect_refused(told, 5, "not_found");
    EXPECT_TRUE(contains(told.err, "somebody deleted"));
  }
  EXPECT_EQ(at(sandbox.must_json({"workspace", "list", "--json"}).as_array()->front(), "gone"), "true");
  sandbox.must({"workspace", "remove", id_});
  EXPECT_EQ(sandbox.must({"workspace", "list", "--json"}), "[]\n");
}

// Over an empty clone the agent would believe in work that is not there.
TEST_F(WorkspaceTest, ASessionIsNotResumedInAnotherWorkspace) {
  write_profile("repo: site");
  const json::Value task = after_work(
      "do: in-run 1 run echo half > half.txt\ndo: in-run 1 run rm -rf $PWD\ndo: in-run 1 exit 1\ndo: resumed exit "
      "1\ndo: say Done.");
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "run"), "2");
  EXPECT_EQ(at(*task.find("agent"), "resumed"), "false");
  const json::Value runs = sandbox.must_json({"show", id_, "--runs", "--json"});
  const json::Value& last = runs.as_array()->front();
  EXPECT_TRUE(contains(at(last, "note"), "session_lost: claude began afresh")) << at(last, "note");
  EXPECT_TRUE(contains(at(last, "note"), "a workspace that is gone"));
  EXPECT_EQ(at(*last.find("change"), "session"), "fresh");
}

TEST_F(WorkspaceTest, AFolderThatBecameALinkEndsTheTask) {
  write_profile("repo: site");
  const json::Value task = after_work(
      "do: in-run 1 run cd .. && mv work elsewhere && ln -s elsewhere work\ndo: in-run 1 exit 1\ndo: say Done.");
  EXPECT_EQ(at(task, "state"), "failed");
  EXPECT_EQ(error_class(task), "invalid");
  EXPECT_EQ(at(task, "attempts"), "2");
  EXPECT_TRUE(contains(error_message(task), "is a symbolic link"));
  EXPECT_TRUE(fs::exists(folder() + "/elsewhere/README"));
}

TEST_F(WorkspaceTest, EvidenceSaysWhatWasCheckedAndWhetherTheCheckWasChanged) {
  sandbox.write_file("site/dev", "#!/bin/sh\ntest -e fixed\n");
  fs::permissions(sandbox.file("site/dev"), fs::perms::owner_all);
  repo.git(fmt::format("add dev && cd {} && {} commit -q -m dev", repo.path(), kAgentGit));
  write_profile("repo: site", "", ", verify: {argv: [./dev, test]}");
  sandbox.write_file("policy.yaml", "types: {fix: {verify: unchanged}}\n");
  sandbox.must({"config", "apply", "policy.yaml"});
  const json::Value task =
      after_work("do: in-run 1 run echo exit 0 > dev\ndo: in-run 2 run git checkout -q dev && touch fixed && " +
                 commit("fixed") + "\ndo: say Done.");
  ASSERT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "attempts"), "2");
  const json::Value runs = sandbox.must_json({"show", id_, "--runs", "--json"});
  const json::Value& second = *runs.as_array()->at(0).find("evidence");
  const json::Value& first = *runs.as_array()->at(1).find("evidence");
  EXPECT_EQ(at(first, "changed"), R"(["dev"])");
  EXPECT_EQ(at(first, "exit_code"), "0");
  EXPECT_EQ(at(second, "changed"), "[]");
  EXPECT_EQ(at(second, "commit"), repo.git("rev-parse refs/heads/drover/" + id_));
  EXPECT_TRUE(contains(at(*runs.as_array()->at(1).find("error"), "message"), "changed what checks it: dev"));
}

}  // namespace
}  // namespace drover::e2e
