#include "worker/run_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/log.h"
#include "base/try.h"
#include "base/unique_fd.h"
#include "core/believed_time.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr std::string_view kDoorName = "door";

std::unexpected<Error> cannot(std::string_view what, const std::string& path, int error_number) {
  return fail(ErrorCode::kInternal, fmt::format("cannot {} {}: {}", what, path, std::strerror(error_number)),
              "worker.run_files");
}

// A folder that only we can enter. One that is there already must be ours and closed to others.
Status make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  if (errno != EEXIST) return cannot("make the folder", path, errno);
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return cannot("look at", path, errno);
  const bool is_ours = S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  if (!is_ours || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) return cannot("use the folder", path, EPERM);
  return {};
}

bool is_answered(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kSocketPathMax) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno == EAGAIN;  // its backlog is full
}

// Beside the user's other sockets, for state directories with long names.
std::string short_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string base = runtime != nullptr && std::strlen(runtime) < kSocketPathMax / 2 ? runtime : "/tmp";
  return fmt::format("{}/drover-{}", base, ::geteuid());
}

Result<std::string> choose_door_path(const std::string& folder, const std::string& name) {
  std::string path = fmt::format("{}/{}", folder, kDoorName);
  if (path.size() > kSocketPathMax) {
    const std::string other = short_folder();
    TRY(make_private_folder(other));
    path = fmt::format("{}/{}", other, name);
  }
  ::unlink(path.c_str());  // left behind by a worker that was killed
  return path;
}

struct OldRun {
  fs::path folder;
  fs::file_time_type changed;
  std::int64_t bytes = 0;
};

OldRun look_at(const fs::path& folder) {
  std::error_code ignored;
  OldRun run{folder, fs::last_write_time(folder, ignored)};
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    run.changed = std::max(run.changed, entry.last_write_time(ignored));
    if (entry.is_regular_file(ignored)) run.bytes += static_cast<std::int64_t>(entry.file_size(ignored));
  }
  return run;
}

// The time to believe, from what the worker before us knew.
BelievedTime look_at_clocks(const std::string& state_dir, const StoreClocks& clocks, Millis kept_for) {
  const std::string path = fmt::format("{}/clock.json", state_dir);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto before = parse_believed_time(text);
  const BelievedTime now = look(before.value_or(first_look(clocks, FirstLook::kInUse)), clocks, kept_for);
  std::ofstream fresh(path + ".new");
  fresh << to_json(now);
  fresh.close();
  if (!fresh || std::rename((path + ".new").c_str(), path.c_str()) != 0)
    log_warn("worker", "cannot record the time; files of old runs stay longer", {{"path", path}});
  return now;
}

void remove_sockets_left_in(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_socket(ignored) && !is_answered(entry.path().string())) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

Result<RunFiles> RunFiles::make(const std::string& state_dir, const TaskId& task, int run) {
  const std::string name = fmt::format("{}.{}", task.to_string(), run);
  std::error_code error;
  // Agents may work in any folder: the path that they are given must not depend on ours.
  const fs::path absolute = fs::absolute(state_dir, error);
  if (error) return cannot("find", state_dir, error.value());

  for (fs::path folder; const fs::path& part : absolute) {
    folder /= part;
    if (fs::exists(folder, error)) continue;
    TRY(make_private_folder(folder.string()));
  }

  RunFiles files;
  const std::string runs = (absolute / "runs").string();
  files.folder_ = fmt::format("{}/{}", runs, name);
  for (const std::string& folder : {runs, files.folder_}) {
    TRY(make_private_folder(folder));
  }
  files.door_path_ = TRY(choose_door_path(files.folder_, name));
  return files;
}

Result<std::string> RunFiles::write(std::string_view name, std::string_view text) const {
  std::string path = fmt::format("{}/{}", folder_, name);
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return cannot("write", path, errno);
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return path;
}

void RunFiles::remove_if_empty() const {
  ::rmdir(folder_.c_str());
}

void prune_run_files(const std::string& state_dir, const StoreClocks& clocks, const RunFilesLimits& limits) {
  std::error_code ignored;
  std::vector<OldRun> runs;
  for (const auto& entry : fs::directory_iterator(fs::path(state_dir) / "runs", ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) runs.push_back(look_at(entry.path()));
  }
  std::ranges::sort(runs, std::greater{}, &OldRun::changed);
  const Time too_old =
      runs.empty() ? Time::min() : end_of_age(look_at_clocks(state_dir, clocks, limits.age_max), limits.age_max);
  std::int64_t bytes = 0;
  for (const OldRun& run : runs) {
    bytes += run.bytes;
    const auto changed = std::chrono::floor<Millis>(std::chrono::file_clock::to_sys(run.changed));
    if (changed >= too_old && bytes <= limits.bytes_max) continue;
    if (is_answered((run.folder / kDoorName).string())) continue;
    log_debug("worker", "deleting the files of an old run", {{"path", run.folder.string()}});
    fs::remove_all(run.folder, ignored);
  }
  remove_sockets_left_in(short_folder());
}

}  // namespace drover
