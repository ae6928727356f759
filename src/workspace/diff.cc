#include <sstream>

#include "workspace/place.h"

namespace drover::workspace {
namespace {

// Of names that each end with a NUL. One that ends with a slash is a repository of its own.
std::string without_repositories(const std::string& names) {
  std::string files;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, '\0');) {
    if (!name.ends_with('/')) files += name + '\0';
  }
  return files;
}

}  // namespace

Result<std::string> diff(const std::string& root, const TaskId& task) {
  const auto place = Place::find(root, task);
  if (!place) return std::unexpected(place.error());
  const auto meta = read_meta(place->folder());
  if (!meta) return std::unexpected(meta.error());
  const auto step = Lock::step(place->root, place->task);
  if (!step) return std::unexpected(step.error());
  const bool has_base = meta->kind != Kind::kDirectory;
  const auto scratch =
      Scratch::make(place->folder(), *meta, has_base ? meta->base_commit : "ref: refs/heads/none", *step);
  if (!scratch) return std::unexpected(scratch.error());
  const Git& git = scratch->git();
  const auto base =
      has_base ? Result<std::string>(meta->base_commit) : git.word({"hash-object", "-t", "tree", "/dev/null"});
  if (!base) return std::unexpected(base.error());
  const auto read = git.run(has_base ? Git::Arguments{"read-tree", *base} : Git::Arguments{"read-tree", "--empty"});
  if (!read) return std::unexpected(read.error());
  const auto untracked = git.run({"ls-files", "--others", "--exclude-standard", "-z"});
  if (!untracked) return std::unexpected(untracked.error());
  const auto added = git.run({"update-index", "-z", "--add", "--stdin"}, without_repositories(*untracked));
  if (!added) return std::unexpected(added.error());
  return git.run({"diff-index", "--patch", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", *base});
}

}  // namespace drover::workspace
