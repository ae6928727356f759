#include "worker/runners/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"
#include "worker/runner_profile.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr int kEntriesMax = 50'000;
constexpr std::int64_t kAddedBytesMax = 16 << 20;

std::string folder_of(const agents::OwnFile& own_file, const std::vector<std::string>& environment) {
  std::string folder(variable_in(environment, own_file.variable));
  if (folder.empty()) folder = std::string(variable_in(environment, "HOME")) + "/" + std::string(own_file.home);
  return folder + "/" + std::string(own_file.within);
}

}  // namespace

std::string find_own_file(const agents::OwnFile& own_file, const std::vector<std::string>& environment,
                          const std::string& session_id) {
  if (own_file.read_line == nullptr || session_id.empty()) return {};
  const std::string ending = session_id + ".jsonl";
  std::error_code error;
  int seen = 0;
  for (fs::recursive_directory_iterator entry(folder_of(own_file, environment), error), end;
       !error && entry != end && seen < kEntriesMax; entry.increment(error), ++seen) {
    if (entry.depth() >= own_file.depth) entry.disable_recursion_pending();
    if (entry.depth() == own_file.depth && entry->path().filename().string().ends_with(ending))
      return entry->path().string();
  }
  return {};
}

std::int64_t size_of_file(const std::string& path) {
  struct stat info{};
  return !path.empty() && ::lstat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

std::string read_added(const std::string& path, std::int64_t size_before) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::int64_t added = info.st_size - size_before;
  if (added <= 0 || added > kAddedBytesMax) return {};
  std::string text(static_cast<std::size_t>(added), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::pread(file.get(), text.data() + filled, text.size() - filled,
                                  static_cast<off_t>(size_before + static_cast<std::int64_t>(filled)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

}  // namespace drover
