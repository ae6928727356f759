#include "store/sqlite/open_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace drover::sqlite {
namespace {

std::unexpected<Error> cannot_look(const std::string& path) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot look at {}: {}", path, std::strerror(errno)),
              "sqlite.files");
}

std::unexpected<Error> is_lost(const std::string& path) {
  return fail(ErrorCode::kStoreDamaged,
              fmt::format("{} was replaced, renamed or deleted while this process had it open, so nothing more is "
                          "written; stop every process that uses this store, put the right files back, and start again",
                          path),
              "sqlite.files");
}

}  // namespace

Status OpenFiles::add(std::string path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return cannot_look(path);
  files_.push_back({std::move(path), facts.st_dev, facts.st_ino});
  return {};
}

Status OpenFiles::check() {
  for (const File& file : files_) {
    if (lost_.load() != nullptr) break;
    struct stat facts{};
    if (::stat(file.path.c_str(), &facts) == 0) {
      if (facts.st_dev == file.device && facts.st_ino == file.inode) continue;
    } else if (errno != ENOENT && errno != ENOTDIR) {
      return cannot_look(file.path);
    }
    const File* none = nullptr;
    if (lost_.compare_exchange_strong(none, &file)) log_error("store", is_lost(file.path).error().message);
  }
  return known();
}

Status OpenFiles::known() const {
  const File* lost = lost_.load();
  return lost == nullptr ? Status() : Status(is_lost(lost->path));
}

}  // namespace drover::sqlite
