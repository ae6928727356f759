#include "workspace/agent_refs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/text.h"
#include "base/try.h"
#include "workspace/files.h"

namespace drover::workspace {
namespace {

constexpr std::size_t kRefBytesMax = 4'096;
constexpr std::size_t kPackedBytesMax = 64 << 20;
constexpr std::size_t kLooseMax = 10'000;
constexpr int kSymbolicMax = 5;
constexpr std::string_view kSymbolic = "ref: ";

std::unexpected<Error> unreadable(std::string_view what, std::string_view why) {
  return fail(ErrorCode::kWrongState, fmt::format("{} of the workspace cannot be read: {}", quoted_excerpt(what), why),
              "workspace");
}

bool is_object_name(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && text.find_first_not_of('0') != std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

class RefReader {
 public:
  explicit RefReader(const std::string& git_dir) : folder_(open_folder(git_dir)) {}

  [[nodiscard]] bool is_open() const { return folder_.is_open(); }
  [[nodiscard]] int fd() const { return folder_.get(); }

  // The text of a ref's own file or its entry in packed-refs; kNotFound if it has neither.
  [[nodiscard]] Result<std::string> read(const std::string& name) const {
    auto text = read_beneath(folder_.get(), name, kRefBytesMax);
    if (!text && text.error().code == ErrorCode::kNotFound) {
      const auto refs = TRY(packed());
      const auto found = std::ranges::find(refs, name, &PackedRef::name);
      if (found == refs.end()) return text;
      return found->object;
    }
    if (text) text->erase(text->find_last_not_of(" \t\r\n") + 1);
    return text;
  }

  [[nodiscard]] Result<std::vector<PackedRef>> packed() const {
    const auto text = read_beneath(folder_.get(), "packed-refs", kPackedBytesMax);
    if (!text && text.error().code == ErrorCode::kNotFound) return std::vector<PackedRef>{};
    if (!text) return std::unexpected(text.error());
    return read_packed_refs(*text);
  }

 private:
  UniqueFd folder_;
};

// The names of the files beneath a folder of refs. Locks that a killed git left are no refs.
Status find_loose(int git_dir, const std::string& folder, std::vector<std::string>& names) {
  std::vector<std::string> waiting{folder};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const UniqueFd opened = open_beneath(git_dir, path, O_RDONLY | O_DIRECTORY);
    const auto entries = names_in(opened.get());
    if (!entries) return unreadable(path, std::strerror(errno));
    for (const std::string& name : *entries) {
      const std::string below = fmt::format("{}/{}", path, name);
      if (name.ends_with(".lock") || below == "refs/remotes") continue;
      struct stat info{};
      if (::fstatat(opened.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return unreadable(below, std::strerror(errno));
      (S_ISDIR(info.st_mode) ? waiting : names).push_back(below);
      if (names.size() + waiting.size() > kLooseMax) return unreadable("refs", "there are too many");
    }
  }
  return {};
}

// Stashes beneath the newest are in the log only: "OLD NEW who when<tab>text".
Status add_stashes(int git_dir, std::vector<std::string>& tips) {
  const auto log = read_beneath(git_dir, "logs/refs/stash", kPackedBytesMax);
  if (!log && log.error().code == ErrorCode::kNotFound) return {};
  if (!log) return unreadable("logs/refs/stash", log.error().message);
  std::istringstream lines(*log);
  for (std::string old, now, rest; lines >> old >> now && std::getline(lines, rest);) {
    if (is_object_name(now)) tips.push_back(now);
  }
  return {};
}

}  // namespace

std::vector<PackedRef> read_packed_refs(const std::string& text) {
  std::vector<PackedRef> refs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || !is_object_name(std::string_view(line).substr(0, space))) continue;
    refs.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return refs;
}

Result<AgentHead> read_head(const RefFolders& folders) {
  const RefReader own(folders.own);
  const RefReader common(folders.common);
  if (!own.is_open() || !common.is_open()) return unreadable(".git", "it is not the folder that Drover made");
  AgentHead head;
  std::string name = "HEAD";
  for (int level = 0; level < kSymbolicMax; ++level) {
    const auto text = (level == 0 ? own : common).read(name);
    if (!text) return unreadable(name, text.error().message);
    if (is_object_name(*text)) {
      head.commit = *text;
      return head;
    }
    if (!text->starts_with(kSymbolic)) return unreadable(name, "it names no commit");
    name = text->substr(kSymbolic.size());
    if (!name.starts_with("refs/")) return unreadable(name, "it is outside refs/");
    if (head.ref.empty()) head.ref = name;
  }
  return unreadable("HEAD", "it leads through too many refs");
}

Result<std::vector<std::string>> read_tips(const std::string& git_dir) {
  const RefReader reader(git_dir);
  if (!reader.is_open()) return unreadable(".git", "it is not the folder that Drover made");
  std::vector<std::string> names;
  TRY(find_loose(reader.fd(), "refs", names));
  const auto packed = reader.packed();
  if (!packed) return unreadable("packed-refs", packed.error().message);
  std::vector<std::string> tips;
  std::ranges::sort(names);
  for (const PackedRef& ref : *packed) {
    if (!ref.name.starts_with("refs/remotes/") && !std::ranges::binary_search(names, ref.name))
      tips.push_back(ref.object);
  }
  for (const std::string& name : names) {
    const auto text = reader.read(name);
    if (!text) return unreadable(name, text.error().message);
    if (text->starts_with(kSymbolic)) continue;  // another name for a ref that is here, too
    if (!is_object_name(*text)) return unreadable(name, "it names no commit");
    tips.push_back(*text);
  }
  TRY(add_stashes(reader.fd(), tips));
  std::ranges::sort(tips);
  tips.erase(std::ranges::unique(tips).begin(), tips.end());
  return tips;
}

}  // namespace drover::workspace
