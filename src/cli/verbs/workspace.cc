// drover workspace: the folders on this machine in which tasks work.
#include <fmt/format.h>

#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
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
  bool all = false;
  Format format = Format::kAuto;
};
// Of the commands for one workspace.
struct OneWorkspace {
  std::string task;                     // its id, or what that begins with
  std::optional<std::string> store_id;  // none: that of the store in use
  Format format = Format::kAuto;
};
struct WorkspacePathOptions : OneWorkspace {};
struct WorkspaceDiffOptions : OneWorkspace {};
struct WorkspaceRemoveOptions : OneWorkspace {};

// The beginning of an id is looked for among the workspaces: a task may be gone from its store.
Result<std::string> read_task_text(std::string_view text) {
  const auto task = TRY(read_task(text));
  if (const auto* id = std::get_if<TaskId>(&task)) return id->to_string();
  return std::get<std::string>(task);
}

void define_one(Verb& verb, OneWorkspace& options, const std::string& json_help) {
  verb.value("ID", "", &options.task, read_task_text, "the task").required();
  verb.value("--of", "STORE", &options.store_id, read_name, "of this store, as `drover workspace list --all` names it");
  verb.json(&options.format, json_help);
}

void define(Verb& verb, WorkspaceListOptions& options) {
  verb.flag("--all", &options.all, true, "those of every store; asks none");
  verb.formats(&options.format, "print a JSON array of workspaces");
}
void define(Verb& verb, WorkspacePathOptions& options) {
  define_one(verb, options, "print what is known of the workspace as JSON");
}
void define(Verb& verb, WorkspaceDiffOptions& options) {
  define_one(verb, options, R"(print {"task_id", "base", "diff"})");
}
void define(Verb& verb, WorkspaceRemoveOptions& options) {
  define_one(verb, options, R"(print {"task_id", "repo", "ref", "commit"})");
}

// That of the state folder, and those that the profiles of a trusted project name.
Result<std::set<std::string>> folders_of(const Context& context) {
  const auto state = TRY(state_folder(context.environment));
  std::set<std::string> folders{workspace_folder({}, state.string())};
  const auto project = TRY(find_project(context));
  if (!project) return folders;
  const auto trusted = TRY(is_trusted(*project, context.environment));
  if (!trusted) return folders;
  for (const auto& [type, profile] : project->document.local.runners)
    folders.insert(workspace_folder(profile.workspace, state.string()));
  return folders;
}

Result<std::string> id_of_store(const Context& context) {
  const auto opened = TRY(open_chosen_store(context));
  return opened->queue().store_id();
}

struct FoundWorkspace {
  std::string store_id;
  std::string root;
  workspace::Workspace is;
};

Result<FoundWorkspace> find_workspace(const OneWorkspace& options, const Context& context) {
  const auto folders = TRY(folders_of(context));
  const auto store = TRY(options.store_id ? Result<std::string>(*options.store_id) : id_of_store(context));
  std::vector<FoundWorkspace> matches;
  for (const std::string& folder : folders) {
    const std::string root = fmt::format("{}/{}", folder, store);
    if (const auto id = TaskId::parse(options.task)) {
      auto found = workspace::find(root, *id);
      if (found) return FoundWorkspace{store, root, *std::move(found)};
      if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
      continue;
    }
    for (workspace::Workspace& one : TRY(workspace::list(root))) {
      if (one.task.to_string().starts_with(options.task)) matches.push_back({store, root, std::move(one)});
    }
  }
  if (matches.size() == 1) return std::move(matches.front());
  if (matches.size() > 1) {
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("{} workspaces are of tasks that begin with {}: give more of the id",
                                    matches.size(), options.task));
  }
  return drover::fail(ErrorCode::kNotFound,
                      fmt::format("task {0} has no workspace on this machine; `drover workspace list` shows those that "
                                  "there are, and its work may be in refs/drover/{0} of the repository",
                                  options.task));
}

std::string to_json(const FoundWorkspace& found) {
  const workspace::Workspace& is = found.is;
  json::Writer out;
  out.begin_object().key("store").string(found.store_id).key("task_id").string(is.task.to_string());
  out.key("kind").string(name_of(is.kind));
  out.key("repo").string(is.repo).key("branch").string(is.branch).key("base").string(is.base_commit);
  out.key("path").string(is.path).key("gone").boolean(is.is_gone).key("bytes").number(is.bytes);
  out.key("used_at").string(format_time(is.used_at)).end_object();
  return std::move(out).take();
}

Table workspace_table(const std::vector<FoundWorkspace>& all, Time now) {
  Table table({{"TASK"}, {"KIND"}, {"SIZE"}, {"USED"}, {"REPOSITORY", Fit::kElastic}, {"PATH", Fit::kElastic}});
  for (const auto& [store_id, root, is] : all) {
    table.add({Cell(is.task.to_string()), Cell(std::string(name_of(is.kind))),
               Cell(fmt::format("{:.1f} MB", static_cast<double>(is.bytes) / 1e6), std::to_string(is.bytes)),
               Cell(coarse_duration(now - is.used_at), format_time(is.used_at)), Cell(is.repo),
               Cell(is.is_gone ? is.path + " (deleted)" : is.path, is.path)});
  }
  return table;
}

Result<std::vector<FoundWorkspace>> list_workspaces(const WorkspaceListOptions& options, const Context& context) {
  const auto folders = TRY(folders_of(context));
  const auto ours = TRY(options.all ? Result<std::string>("") : id_of_store(context));
  std::vector<FoundWorkspace> all;
  for (const std::string& folder : folders) {
    for (const std::string& store : options.all ? workspace::stores_in(folder) : std::vector{ours}) {
      const std::string root = fmt::format("{}/{}", folder, store);
      auto found = TRY(workspace::list(root));
      for (workspace::Workspace& one : found) all.push_back({store, root, std::move(one)});
    }
  }
  return all;
}

int run(const WorkspaceListOptions& options, Context& context) {
  const auto listed = list_workspaces(options, context);
  if (!listed) return context.fail(listed.error());
  const std::vector<FoundWorkspace>& all = *listed;
  print(Listing<FoundWorkspace>{.items = all,
                                .nothing = "no workspaces",
                                .name = [](const FoundWorkspace& one) { return one.is.task.to_string(); },
                                .table = [&] { return workspace_table(all, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int run(const WorkspacePathOptions& options, Context& context) {
  const auto found = find_workspace(options, context);
  if (!found) return context.fail(found.error());
  if (found->is.is_gone && options.format != Format::kJson) {
    return context.fail(
        {ErrorCode::kNotFound,
         fmt::format("the workspace is gone: somebody deleted {}; `drover workspace remove {}` clears up what is left "
                     "of it",
                     found->is.path, found->is.task.to_string()),
         {}});
  }
  context.out.line(options.format == Format::kJson ? to_json(*found) : found->is.path);
  return kExitOk;
}

int run(const WorkspaceDiffOptions& options, Context& context) {
  const auto found = find_workspace(options, context);
  if (!found) return context.fail(found.error());
  const auto patch = workspace::diff(found->root, found->is.task);
  if (!patch) return context.fail(patch.error());
  if (options.format != Format::kJson) {
    context.out.write(context.out.look().terminal ? harmless(*patch) : *patch);
    return kExitOk;
  }
  json::Writer out;
  out.begin_object().key("task_id").string(found->is.task.to_string()).key("base").string(found->is.base_commit);
  out.key("diff").string(to_utf8(*patch)).end_object();
  context.out.line(std::move(out).take());
  return kExitOk;
}

int run(const WorkspaceRemoveOptions& options, Context& context) {
  const auto found = find_workspace(options, context);
  if (!found) return context.fail(found.error());
  const auto saved = workspace::remove(found->root, found->is.task);
  if (!saved) return context.fail(saved.error());
  if (!saved->saved) {
    return context.fail(
        {ErrorCode::kWrongState,
         fmt::format("the workspace stays, since its work cannot be saved: {}; move what you need out of {}, or delete "
                     "what is in the way, and try again",
                     saved->why, found->is.path),
         {}});
  }
  const std::string ref = "refs/drover/" + found->is.task.to_string();
  if (options.format == Format::kJson) {
    json::Writer out;
    out.begin_object().key("task_id").string(found->is.task.to_string()).key("repo").string(found->is.repo);
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
show what the tasks of this store have on this machine, in your state folder and in the folders that a trusted
drover.yaml names. Workspaces of other stores are left alone, unless you name the store with --of.

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
  drover workspace list --all --json | jq -r '.[].store'
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
