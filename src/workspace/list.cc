#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/try.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockBytes = 512;  // of st_blocks, whatever the file system has

// What cannot be read, or has too long a path, counts nothing. A file with several names counts for each.
std::int64_t bytes_on_disk(const std::string& path) {
  const UniqueFd top = open_folder(path);
  std::int64_t bytes = 0;
  std::vector<std::string> waiting{"."};
  while (!waiting.empty()) {
    const std::string folder = std::move(waiting.back());
    waiting.pop_back();
    const UniqueFd opened = open_beneath(top.get(), folder, O_RDONLY | O_DIRECTORY);
    for (const std::string& name : names_in(opened.get()).value_or(std::vector<std::string>{})) {
      struct stat info{};
      if (::fstatat(opened.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      bytes += info.st_blocks * kBlockBytes;
      if (S_ISDIR(info.st_mode) && folder.size() < PATH_MAX) waiting.push_back(fmt::format("{}/{}", folder, name));
    }
  }
  return bytes;
}

Time last_used(const Place& place) {
  struct stat info{};
  if (::stat(lock_path(place.root, place.task).c_str(), &info) != 0) return {};
  return Time(std::chrono::seconds(info.st_mtim.tv_sec) +
              std::chrono::floor<Millis>(std::chrono::nanoseconds(info.st_mtim.tv_nsec)));
}

Result<Workspace> look_at(const Place& place) {
  auto meta = TRY(read_meta(place.folder()));
  return Workspace{.task = place.task,
                   .kind = meta.kind,
                   .repo = std::move(meta.repository.path),
                   .branch = std::move(meta.branch),
                   .base_commit = std::move(meta.base_commit),
                   .path = place.work(),
                   .bytes = bytes_on_disk(place.folder()),
                   .used_at = last_used(place),
                   .is_gone = place.shape() == Shape::kGone};
}

}  // namespace

std::vector<std::string> stores_in(const std::string& folder) {
  const UniqueFd opened = open_folder(folder);
  std::vector<std::string> stores = names_in(opened.get()).value_or(std::vector<std::string>{});
  std::erase_if(stores, [&](const std::string& name) {
    struct stat info{};
    return ::fstatat(opened.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode);
  });
  std::ranges::sort(stores);
  return stores;
}

Result<std::vector<TaskId>> tasks_in(const std::string& root) {
  const auto place = Place::find(root, {});
  if (!place && place.error().code == ErrorCode::kNotFound) return std::vector<TaskId>{};
  if (!place) return std::unexpected(place.error());
  std::error_code error;
  std::vector<TaskId> tasks;
  for (const auto& entry : fs::directory_iterator(place->root, error)) {
    if (const auto task = TaskId::parse(entry.path().filename().string())) tasks.push_back(*task);
  }
  if (error) return cannot("read", place->root, error.value());
  std::ranges::sort(tasks);
  return tasks;
}

Result<std::vector<Workspace>> list(const std::string& root) {
  const auto tasks = TRY(tasks_in(root));
  std::vector<Workspace> found;
  for (const TaskId& task : tasks) {
    if (auto workspace = find(root, task)) found.push_back(*std::move(workspace));
  }
  return found;
}

Result<Workspace> find(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  return look_at(place);
}

}  // namespace drover::workspace
