// drover workspace: the folders on this machine in which tasks work.
#include <fmt/format.h>

#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/display_text.h"
#include "cli/files.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "worker/runner_profile.h"
#include "workspace/workspace.h"

namespace drover::cli {
namespace {

struct WorkspaceListOptions {
  Format format = Format::kAuto;
};
struct WorkspacePathOptions {
  TaskId task;
  Format format = Format::kAuto;
};
struct WorkspaceDiffOptions {
  TaskId task;
  Format format = Format::kAuto;
};
struct WorkspaceRemoveOptions {
  TaskId task;
  Format format = Format::kAuto;
};

void define(Verb& verb, WorkspaceListOptions& options) {
  verb.formats(&options.format, "print a JSON array of workspaces");
}
void define(Verb& verb, WorkspacePathOptions& options) {
  verb.task_id(&options.task);
  verb.json(&options.format, "print what is known of the workspace as JSON");
}
void define(Verb& verb, WorkspaceDiffOptions& options) {
  verb.task_id(&options.task);
  verb.json(&options.format, R"(print {"task_id", "base", "diff"})");
}
void define(Verb& verb, WorkspaceRemoveOptions& options) {
  verb.task_id(&options.task);
  verb.json(&options.format, R"(print {"task_id", "repo", "ref", "commit"})");
}

// That of the state folder, and those that the profiles of a trusted project name.
Result<std::set<std::string>> roots_of(const Context& context) {
  const auto state = state_folder(context.environment);
  if (!state) return std::unexpected(state.error());
  std::set<std::string> roots{workspace_root({}, state->string())};
  const auto project = find_project(context);
  if (!project) return std::unexpected(project.error());
  if (!*project) return roots;
  const auto trusted = is_trusted(**project, context.environment);
  if (!trusted) return std::unexpected(trusted.error());
  if (!*trusted) return roots;
  for (const auto& [type, profile] : (*project)->document.local.runners)
    roots.insert(workspace_root(profile.workspace, state->string()));
  return roots;
}

struct FoundWorkspace {
  std::string root;
  workspace::Workspace is;
};

Result<FoundWorkspace> find_workspace(const TaskId& task, const Context& context) {
  const auto roots = roots_of(context);
  if (!roots) return std::unexpected(roots.error());
  for (const std::string& root : *roots) {
    auto found = workspace::find(root, task);
    if (found) return FoundWorkspace{root, *std::move(found)};
    if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
  }
  return drover::fail(ErrorCode::kNotFound,
                      fmt::format("task {} has no workspace on this machine; `drover workspace list` shows those that "
                                  "there are, and its work may be in refs/drover/{} of the repository",
                                  task.to_string(), task.to_string()));
}

std::string to_json(const FoundWorkspace& found) {
  const workspace::Workspace& is = found.is;
  json::Writer out;
  out.begin_object().key("task_id").string(is.task.to_string()).key("kind").string(name_of(is.kind));
  out.key("repo").string(is.repo).key("branch").string(is.branch).key("base").string(is.base_commit);
  out.key("path").string(is.path).key("bytes").number(is.bytes).key("used_at").string(format_time(is.used_at));
  out.end_object();
  return std::move(out).take();
}

Table workspace_table(const std::vector<FoundWorkspace>& all, Time now) {
  Table table({{"TASK"}, {"KIND"}, {"SIZE"}, {"USED"}, {"REPOSITORY", Fit::kElastic}, {"PATH", Fit::kElastic}});
  for (const auto& [root, is] : all) {
    table.add({Cell(is.task.to_string()), Cell(std::string(name_of(is.kind))),
               Cell(fmt::format("{:.1f} MB", static_cast<double>(is.bytes) / 1e6), std::to_string(is.bytes)),
               Cell(coarse_duration(now - is.used_at), format_time(is.used_at)), Cell(is.repo), Cell(is.path)});
  }
  return table;
}

int run(const WorkspaceListOptions& options, Context& context) {
  const auto roots = roots_of(context);
  if (!roots) return context.fail(roots.error());
  std::vector<FoundWorkspace> all;
  for (const std::string& root : *roots) {
    auto found = workspace::list(root);
    if (!found) return context.fail(found.error());
    for (workspace::Workspace& one : *found) all.push_back({root, std::move(one)});
  }
  print(Listing<FoundWorkspace>{.items = all,
                                .nothing = "no workspaces",
                                .name = [](const FoundWorkspace& one) { return one.is.task.to_string(); },
                                .table = [&] { return workspace_table(all, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int run(const WorkspacePathOptions& options, Context& context) {
  const auto found = find_workspace(options.task, context);
  if (!found) return context.fail(found.error());
  context.out.line(options.format == Format::kJson ? to_json(*found) : found->is.path);
  return kExitOk;
}

int run(const WorkspaceDiffOptions& options, Context& context) {
  const auto found = find_workspace(options.task, context);
  if (!found) return context.fail(found.error());
  const auto patch = workspace::diff(found->root, options.task);
  if (!patch) return context.fail(patch.error());
  if (options.format != Format::kJson) {
    context.out.write(context.out.look().terminal ? harmless(*patch) : *patch);
    return kExitOk;
  }
  json::Writer out;
  out.begin_object().key("task_id").string(options.task.to_string()).key("base").string(found->is.base_commit);
  out.key("diff").string(to_utf8(*patch)).end_object();
  context.out.line(std::move(out).take());
  return kExitOk;
}

int run(const WorkspaceRemoveOptions& options, Context& context) {
  const auto found = find_workspace(options.task, context);
  if (!found) return context.fail(found.error());
  const auto saved = workspace::remove(found->root, options.task);
  if (!saved) return context.fail(saved.error());
  if (!saved->saved) {
    return context.fail(
        {ErrorCode::kWrongState,
         fmt::format("the workspace stays, since its work cannot be saved: {}; move what you need out of {}, or delete "
                     "what is in the way, and try again",
                     saved->why, found->is.path),
         {}});
  }
  const std::string ref = "refs/drover/" + options.task.to_string();
  if (options.format == Format::kJson) {
    json::Writer out;
    out.begin_object().key("task_id").string(options.task.to_string()).key("repo").string(found->is.repo);
    out.key("ref").string(ref).key("commit").string(saved->commit).end_object();
    context.out.line(std::move(out).take());
  } else {
    context.say(saved->commit.empty() ? "removed; there was nothing in it to save"
                                      : fmt::format("removed; its work is in {} of {}", ref, found->is.repo));
  }
  return kExitOk;
}

}  // namespace

void add_workspace(Verbs& verbs) {
  Verbs& family = verbs.family(
      {.name = "workspace",
       .summary = "See and remove the folders on this machine in which tasks work",
       .footer =
           R"(A task whose runner has a workspace, or that names a repository, works in a folder of its own. Workers remove it
some time after the task has ended, when everything in it that git does not ignore is in the repository. These commands
ask no store: they show what is on this machine, in your state folder and in the folders that a trusted drover.yaml
names.

Examples:
  drover workspace list
  cd $(drover workspace path ID))"});
  family.add<WorkspaceListOptions>(
      {.name = "list",
       .summary = "List the workspaces",
       .footer =
           R"(Piped, it prints tab-separated columns: task, kind, bytes, last used, repository, path.

Examples:
  drover workspace list
  drover workspace list --json | jq 'map(.bytes) | add')"},
      define, run);
  family.add<WorkspacePathOptions>({.name = "path", .summary = "Print the folder of a task", .footer = R"(Examples:
  ls $(drover workspace path ID))"},
                                   define, run);
  family.add<WorkspaceDiffOptions>(
      {.name = "diff",
       .summary = "Show what a task has changed since its base, committed or not",
       .footer =
           R"(The patch leaves out what git ignores. No program that the agent named in its git configuration runs.

Examples:
  drover workspace diff ID | less)"},
      define, run);
  family.add<WorkspaceRemoveOptions>(
      {.name = "remove",
       .summary = "Save the work of a task in its repository, then delete its folder",
       .footer =
           R"(Everything that git does not ignore goes to refs/drover/ID of the repository; of a workspace without a repository, to
saved.git beside it. A workspace that a run uses, or whose work cannot be saved, stays (exit 6).

Examples:
  drover workspace remove ID
  git -C /srv/site log refs/drover/ID)"},
      define, run);
}

}  // namespace drover::cli
