#include "policy/workspace_section.h"

#include <array>

#include "core/base_ref.h"
#include "policy/config_values.h"

namespace drover {
namespace {

constexpr Bounds kWorkspaceBytesBounds{0, 1LL << 50};

Result<std::string> absolute_path_of(const ConfigNode& node) {
  auto path = TRY(node.text());
  if (!path.starts_with('/') || path.contains('\0')) return node.expected("an absolute path");
  return path;
}

Result<std::string> repo_name_of(const ConfigNode& node) {
  auto name = TRY(node.name());
  if (name.starts_with('-')) return node.error("a repository's name does not begin with -");
  return name;
}

Result<std::string> base_of(const ConfigNode& node) {
  auto base = TRY(node.text());
  if (const auto refs = refs_of_base(base); !refs) return node.error(refs.error());
  return base;
}

Result<Millis> keep_for(const ConfigNode& node) {
  return parsed(node, parse_duration);
}

Result<std::vector<std::string>> owners_of(const ConfigNode& node) {
  const auto items = TRY(node.items());
  if (items.empty()) return node.error("nobody could use it: name an owner, or leave owners out for everybody");
  std::vector<std::string> owners;
  for (const ConfigNode& item : items) {
    auto owner = TRY(item.name());
    owners.push_back(std::move(owner));
  }
  return owners;
}

constexpr auto kRepoFields = std::to_array<ConfigField<RepoProfile>>({
    {"path", [](RepoProfile& r, const ConfigNode& n) { return put(absolute_path_of(n), r.path); }},
    {"owners", [](RepoProfile& r, const ConfigNode& n) { return put(owners_of(n), r.owners); }},
});

constexpr auto kKeepFields = std::to_array<ConfigField<WorkspaceKeep>>({
    {"completed", [](WorkspaceKeep& k, const ConfigNode& n) { return put(keep_for(n), k.completed); }},
    {"failed", [](WorkspaceKeep& k, const ConfigNode& n) { return put(keep_for(n), k.failed); }},
    {"bytes", [](WorkspaceKeep& k, const ConfigNode& n) { return put(n.bytes(kWorkspaceBytesBounds), k.bytes_max); }},
});

constexpr auto kWorkspaceFields = std::to_array<ConfigField<WorkspaceProfile>>({
    {"kind",
     [](WorkspaceProfile& w, const ConfigNode& n) {
       return put(one_of(n, parse_workspace_kind, "none, directory, clone or worktree"), w.kind);
     }},
    {"path", [](WorkspaceProfile& w, const ConfigNode& n) { return put(absolute_path_of(n), w.root); }},
    {"repo", [](WorkspaceProfile& w, const ConfigNode& n) { return put(repo_name_of(n), w.repo); }},
    {"base", [](WorkspaceProfile& w, const ConfigNode& n) { return put(base_of(n), w.base); }},
    {"setup", [](WorkspaceProfile& w, const ConfigNode& n) { return put(argv_of(n), w.setup); }},
    {"keep", [](WorkspaceProfile& w, const ConfigNode& n) { return read_fields(n, kKeepFields, w.keep); }},
});

}  // namespace

Status read_repos(Repos& repos, const ConfigNode& node) {
  return node.members([&](const std::string& name, const ConfigNode& value) -> Status {
    if (const auto status = check_name(name); !status) return value.error(status.error());
    if (name.starts_with('-')) return value.error("a repository's name does not begin with -");
    RepoProfile& repo = repos[name];
    TRY(read_fields(value, kRepoFields, repo));
    return repo.path.empty() ? Status(value.error("path is missing")) : Status();
  });
}

Status read_workspace(WorkspaceProfile& workspace, const ConfigNode& node) {
  TRY(read_fields(node, kWorkspaceFields, workspace));
  const bool has_none = workspace.kind && !has_repository(*workspace.kind);
  if (has_none && !workspace.repo.empty())
    return node.error(fmt::format("a workspace of kind {} has no repository", name_of(*workspace.kind)));
  return {};
}

}  // namespace drover
