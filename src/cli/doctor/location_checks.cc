// Where a store is kept: its files and their disk, or the Redis server.
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/doctor/line.h"
#include "store/redis/address.h"
#include "store/redis/connection.h"
#include "store/redis/server_checks.h"

namespace drover::cli {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kDiskFullBelow = 64 * kMiB;  // as much as the ballast that settles what runs
constexpr std::int64_t kDiskLowBelow = 512 * kMiB;
constexpr ::mode_t kNotOwner = 077;
constexpr ::mode_t kOthersWrite = 022;

void add_permissions(const std::filesystem::path& path, ::mode_t forbidden, std::string_view right,
                     DoctorLines& lines) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return;
  const ::mode_t mode = info.st_mode & 0777;
  if ((mode & forbidden) == 0) {
    lines.push_back({.check = "permissions", .subject = path.string(), .detail = fmt::format("{:04o}", mode)});
    return;
  }
  lines.push_back({.level = DoctorLevel::kWarn,
                   .check = "permissions",
                   .subject = path.string(),
                   .detail = fmt::format("{:04o}: other users have access", mode),
                   .fix = fmt::format("chmod {} {}", right, path.string())});
}

void add_writable(const std::filesystem::path& path, DoctorLines& lines) {
  if (::access(path.c_str(), W_OK) == 0) {
    lines.push_back({.check = "writable", .subject = path.string(), .detail = "yes"});
    return;
  }
  const bool read_only_disk = errno == EROFS;
  lines.push_back({.level = DoctorLevel::kFail,
                   .check = "writable",
                   .subject = path.string(),
                   .detail = fmt::format("read-only: {}", std::strerror(errno)),  // NOLINT(concurrency-mt-unsafe)
                   .fix = read_only_disk ? fmt::format("mount -o remount,rw $(findmnt -nT {} -o TARGET)", path.string())
                                         : fmt::format("chmod u+w {}", path.string())});
}

void add_durable(const std::filesystem::path& folder, DoctorLines& lines) {
  struct statfs info{};
  if (::statfs(folder.c_str(), &info) != 0) return;
  if (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC) {
    lines.push_back({.level = DoctorLevel::kWarn,
                     .check = "durable",
                     .subject = folder.string(),
                     .detail = "a file system in memory: nothing survives a restart of this machine",
                     .fix = "keep the store on a disk: --store sqlite:PATH"});
    return;
  }
  lines.push_back(
      {.check = "durable", .subject = folder.string(), .detail = "on a disk, every commit is synced to it"});
}

void add_disk(const std::filesystem::path& folder, DoctorLines& lines) {
  struct statfs info{};
  if (::statfs(folder.c_str(), &info) != 0) return;
  lines.push_back(disk_line(folder.string(), static_cast<std::int64_t>(info.f_bavail) * info.f_bsize));
}

DoctorLine durability_line(const redis::Durability& durability) {
  using Level = redis::Durability::Level;
  DoctorLine line{.check = "durable", .detail = durability.text};
  switch (durability.level) {
    case Level::kAlways:
    case Level::kReplicated:
      return line;
    case Level::kEverysec:
      line.level = DoctorLevel::kWarn;
      line.fix = "redis-cli CONFIG SET appendfsync always; redis-cli CONFIG REWRITE";
      return line;
    case Level::kUnknown:
      line.level = DoctorLevel::kWarn;
      line.fix = "allow the URL's user to ask: redis-cli ACL SETUSER NAME +config|get";
      return line;
    case Level::kNone:
    case Level::kSnapshot:
      line.level = DoctorLevel::kFail;
      line.fix =
          "redis-cli CONFIG SET appendonly yes; redis-cli CONFIG SET appendfsync always; redis-cli CONFIG REWRITE";
      return line;
  }
  return line;
}

// What check_server refuses.
DoctorLine refusal_line(const Error& error) {
  if (error.message.contains("maxmemory-policy")) {
    return {.level = DoctorLevel::kFail,
            .check = "eviction",
            .detail = error.message.substr(0, error.message.find(';')),
            .fix = "redis-cli CONFIG SET maxmemory-policy noeviction; redis-cli CONFIG REWRITE"};
  }
  return {.level = DoctorLevel::kFail,
          .check = "server",
          .detail = error.message,
          .fix = "name a primary of Redis 7.0 or later: --store redis://HOST:PORT"};
}

DoctorLine unreachable_line(const Error& error) {
  return {.level = DoctorLevel::kFail,
          .check = "server",
          .detail = error.message,
          .fix = "start it, or name another: --store redis://[USER:PASSWORD@]HOST:PORT"};
}

}  // namespace

DoctorLine disk_line(const std::string& folder, std::int64_t free_bytes) {
  DoctorLine line{.check = "disk", .subject = folder, .detail = fmt::format("{} MiB free", free_bytes / kMiB)};
  if (free_bytes >= kDiskLowBelow) return line;
  line.level = free_bytes < kDiskFullBelow ? DoctorLevel::kFail : DoctorLevel::kWarn;
  if (line.level == DoctorLevel::kFail) line.detail = "full: " + line.detail + ", so new tasks are refused";
  line.fix =
      fmt::format("make room on the disk of {}; to keep fewer ended tasks: limits.retention in drover.yaml", folder);
  return line;
}

void check_database_files(const std::string& path, DoctorLines& lines) {
  const std::filesystem::path file(path);
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::exists(folder, error)) return;  // opening it makes the folder, or says why not
  add_disk(folder, lines);
  add_durable(folder, lines);
  const bool exists = std::filesystem::exists(file, error);
  add_writable(exists ? file : folder, lines);
  add_permissions(folder, kOthersWrite, "go-w", lines);
  if (exists) add_permissions(file, kNotOwner, "600", lines);
}

void check_redis_server(const std::string& url, DoctorLines& lines) {
  const auto address = redis::parse_address(url);
  if (!address) return;  // opening it says what is wrong with the URL
  const auto connection = redis::Connection::open(*address, Patience::of(kServerPatience));
  if (!connection) return lines.push_back(unreachable_line(connection.error()));
  const auto report = redis::check_server(**connection, Patience::of(kServerPatience));
  if (!report) return lines.push_back(refusal_line(report.error()));
  lines.push_back({.check = "server", .detail = fmt::format("{} {}", report->product, report->version)});
  lines.push_back({.check = "eviction", .detail = "noeviction: no task is thrown away when memory is short"});
  lines.push_back(durability_line(report->durability));
}

void check_store_location(const std::string& url, DoctorLines& lines) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (url == "memory:") {
    lines.push_back({.level = DoctorLevel::kWarn,
                     .check = "durable",
                     .subject = url,
                     .detail = "a store in memory is gone when its process exits",
                     .fix = "keep it in a file: --store sqlite:PATH"});
  } else if (url.starts_with(kSqlite)) {
    check_database_files(url.substr(kSqlite.size()), lines);
  } else if (url.starts_with("redis")) {
    check_redis_server(url, lines);
  }
}

}  // namespace drover::cli
