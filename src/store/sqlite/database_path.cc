#include "store/sqlite/database_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/try.h"

namespace drover::sqlite {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

enum class Verdict { kFine, kWarn, kRefuse };

struct FileSystem {
  std::int64_t magic;
  std::string_view name;
  Verdict verdict;
};

// linux/magic.h does not know them all.
constexpr FileSystem kFileSystems[] = {
    {NFS_SUPER_MAGIC, "NFS", Verdict::kRefuse}, {0x517B, "SMB", Verdict::kRefuse},
    {0xFF534D42, "CIFS", Verdict::kRefuse},     {0xFE534D42, "SMB2", Verdict::kRefuse},
    {0x00C36400, "Ceph", Verdict::kRefuse},     {0x5346414F, "AFS", Verdict::kRefuse},
    {0x0BD00BD0, "Lustre", Verdict::kRefuse},   {0x47504653, "GPFS", Verdict::kRefuse},
    {0x01021997, "9p", Verdict::kWarn},         {0x65735546, "FUSE", Verdict::kWarn},
};

std::unexpected<Error> os_error(std::string_view what, const std::string& path) {
  const int error = errno;
  const ErrorCode code = error == ENOSPC || error == EDQUOT ? ErrorCode::kDiskFull : ErrorCode::kStoreUnavailable;
  return fail(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(error)), "sqlite.open");
}

Status sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return os_error("open", folder);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems have no fsync of folders; they say so, and there is nothing to fall back to.
  if (result != 0 && error != EINVAL) {
    errno = error;
    return os_error("sync", folder);
  }
  return {};
}

Status make_folder(const std::filesystem::path& folder) {
  if (folder.empty() || std::filesystem::exists(folder)) return {};
  TRY(make_folder(folder.parent_path()));
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return os_error("make the folder", folder);
  return sync_folder(folder.has_parent_path() ? folder.parent_path().string() : ".");
}

Status check_file_system(const std::string& folder) {
  struct statfs facts{};
  if (::statfs(folder.c_str(), &facts) != 0) return os_error("look at", folder);
  const std::int64_t magic = static_cast<std::uint32_t>(facts.f_type);
  for (const FileSystem& known : kFileSystems) {
    if (known.magic != magic) continue;
    if (known.verdict == Verdict::kRefuse) {
      return fail(
          ErrorCode::kStoreUnavailable,
          fmt::format("{} is on {}, a network file system, which cannot hold the store safely: use a local disk",
                      folder, known.name),
          "sqlite.open");
    }
    log_warn("store", "this file system may not keep what it is told to; a local disk is safer",
             {{"folder", folder}, {"file_system", std::string(known.name)}});
  }
  return {};
}

Status make_file(const std::string& path, const std::string& folder) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (fd < 0) return errno == EEXIST ? Status() : os_error("make", path);
  ::close(fd);
  return sync_folder(folder);
}

// Before anything is put beside the file: whoever names the wrong file finds it and its folder as they were.
Status check_is_database(const std::string& path) {
  static constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMagic.size()> head{};
  file.read(head.data(), head.size());
  const std::string_view found(head.data(), static_cast<std::size_t>(file.gcount()));
  // What cannot be read is told by SQLite, and an empty file is a database to be.
  if (found.empty() || found == kMagic) return {};
  return fail(ErrorCode::kStoreDamaged,
              fmt::format("{} is not a database; name another file, or restore it from a backup", path), "sqlite.open");
}

}  // namespace

Status prepare_path(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  TRY(make_folder(folder));
  TRY(check_file_system(folder));
  TRY(make_file(path, folder));
  return check_is_database(path);
}

// Neither moves with the content: a copy has another inode, and one that got the same number was made later. The device
// has no part in it, because it may be numbered otherwise after a reboot.
std::string file_id_of(const std::string& path) {
  struct statx facts{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &facts) != 0) return {};
  return fmt::format("{}-{}.{:09}", facts.stx_ino, facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec);
}

}  // namespace drover::sqlite
