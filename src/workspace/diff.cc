#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "base/try.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

// What is kept of the files of a check that a run has changed, for evidence that has a limit itself.
constexpr std::size_t kChangedMax = 50;
constexpr std::size_t kChangedBytesMax = 16 << 10;

// Of names that each end with a NUL. One that ends with a slash is a repository of its own.
std::string without_repositories(const std::string& names) {
  std::string files;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, '\0');) {
    if (!name.ends_with('/')) files += name + '\0';
  }
  return files;
}

Git::Arguments joined(Git::Arguments words, const Git::Arguments& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The index knows every file that is not ignored, as it was at the base. Only those of `paths`, unless it is empty.
Status index_all(const Git& git, const Git::Arguments& read_base, const Git::Arguments& paths) {
  TRY(git.run(read_base));
  const auto untracked = TRY(git.run(joined({"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths)));
  TRY(git.run({"update-index", "-z", "--add", "--stdin"}, without_repositories(untracked)));
  return {};
}

// The paths in the work tree that a word of a command may name: "./dev", "tests/", "--config=tests.ini".
Git::Arguments paths_named_by(const std::vector<std::string>& argv) {
  Git::Arguments paths;
  for (std::string_view word : argv) {
    if (word.starts_with('-')) word.remove_prefix(std::min(word.find('='), word.size() - 1) + 1);
    std::string path = std::filesystem::path(word).lexically_normal().string();
    if (path.ends_with('/')) path.pop_back();
    if (path.empty() || path == "." || path.starts_with('/') || path.starts_with("..") || !is_plain_path(path))
      continue;
    paths.push_back(":(literal)" + path);
  }
  return paths;
}

}  // namespace

Result<std::string> diff(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  TRY(place.check_there());
  const auto meta = TRY(read_meta(place.folder()));
  const auto step = TRY(Lock::step(place.root, place.task));
  const bool has_base = meta.kind != Kind::kDirectory;
  const auto scratch =
      TRY(Scratch::make(place.folder(), meta, has_base ? meta.base_commit : "ref: refs/heads/none", step));
  const Git& git = scratch.git();
  const auto base =
      TRY(has_base ? Result<std::string>(meta.base_commit) : git.word({"hash-object", "-t", "tree", "/dev/null"}));
  TRY(index_all(git, has_base ? Git::Arguments{"read-tree", base} : Git::Arguments{"read-tree", "--empty"}, {}));
  return git.run({"diff-index", "--patch", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", base});
}

Result<Inspected> inspect(const std::string& root, const TaskId& task, const std::vector<std::string>& check_argv) {
  const auto place = TRY(Place::find(root, task));
  TRY(place.check_there());
  const auto step = TRY(Lock::step(place.root, place.task));
  const auto meta = TRY(read_meta(place.folder()));
  const auto refs = TRY(refs_of(meta, place.work()));
  const auto head = TRY(read_head(refs));
  Inspected found{.commit = head.commit, .changed = {}};
  const Git::Arguments paths = paths_named_by(check_argv);
  if (paths.empty()) return found;
  const auto scratch = TRY(Scratch::make(place.folder(), meta, meta.base_commit, step));
  TRY(index_all(scratch.git(), {"read-tree", meta.base_commit}, paths));
  // Not diff-index: that would name every file whose times are not in the index.
  const auto differing =
      TRY(scratch.git().run(joined({"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
                                    "--ignore-submodules=all", meta.base_commit, "--"},
                                   paths)));
  std::istringstream names(differing);
  std::size_t bytes = 0;
  for (std::string name; std::getline(names, name, '\0');) {
    bytes += name.size();
    if (found.changed.size() == kChangedMax || bytes > kChangedBytesMax) break;
    found.changed.push_back(to_utf8(name));
  }
  return found;
}

}  // namespace drover::workspace
