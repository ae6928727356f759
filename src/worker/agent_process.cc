#include "worker/agent_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <set>

#include "base/check.h"
#include "base/try.h"
#include "worker/machine_limits.h"
#include "worker/process_tree.h"
#include "worker/shim_protocol.h"

namespace drover {
namespace {

// By number: the header of glibc 2.36 declares them for C only.
int pidfd_open(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}
void pidfd_send_signal(int pidfd, int signal) {
  ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

// The child's ends are put above the numbers that they are moved to, so that no move overwrites another's source.
constexpr int kFdsFrom = 10;
constexpr int kOutputPipeBytes = 1 << 20;

std::unexpected<Error> cannot(std::string_view what, int error_number) {
  return fail(ErrorCode::kInternal, fmt::format("cannot {}: {}", what, explain_error(error_number)), "worker.spawn");
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<UniqueFd> raised(UniqueFd fd) {
  if (fd.get() >= kFdsFrom) return fd;
  UniqueFd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFdsFrom));
  if (!high.is_open()) return cannot("duplicate a descriptor", errno);
  return high;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot("make a pipe", errno);
  auto read_end = raised(UniqueFd(ends[0]));
  auto write_end = raised(UniqueFd(ends[1]));
  if (!read_end) return std::unexpected(read_end.error());
  if (!write_end) return std::unexpected(write_end.error());
  return Pipe{*std::move(read_end), *std::move(write_end)};
}

// One pipe per number of the shim: which end it gets is told by who reads.
struct Pipes {
  Pipe in, out, err, control, status;
};

Result<Pipes> make_pipes() {
  Pipes pipes;
  for (Pipe* pipe : {&pipes.in, &pipes.out, &pipes.err, &pipes.control, &pipes.status}) {
    auto made = TRY(make_pipe());
    *pipe = std::move(made);
  }
  return pipes;
}

class FileActions {
 public:
  FileActions() { CHECK(::posix_spawn_file_actions_init(&actions_) == 0); }
  explicit FileActions(const Pipes& pipes) : FileActions() {
    move(pipes.in.read_end, STDIN_FILENO);
    move(pipes.out.write_end, STDOUT_FILENO);
    move(pipes.err.write_end, STDERR_FILENO);
    move(pipes.control.read_end, kShimControlFd);
    move(pipes.status.write_end, kShimStatusFd);
    close_from(kShimStatusFd + 1);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void move(const UniqueFd& from, int to) { CHECK(::posix_spawn_file_actions_adddup2(&actions_, from.get(), to) == 0); }
  void change_folder(const std::string& folder) {
    CHECK(::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()) == 0);
  }
  void open_null(int fd) { CHECK(::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_WRONLY, 0) == 0); }
  void close_from(int fd) { CHECK(::posix_spawn_file_actions_addclosefrom_np(&actions_, fd) == 0); }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// A session of its own, and signals as a fresh program expects them.
class Attributes {
 public:
  Attributes() {
    CHECK(::posix_spawnattr_init(&attributes_) == 0);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    CHECK(::posix_spawnattr_setsigdefault(&attributes_, &all) == 0);
    CHECK(::posix_spawnattr_setsigmask(&attributes_, &none) == 0);
    CHECK(::posix_spawnattr_setflags(&attributes_,
                                     POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK) == 0);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> shim_argv(const AgentCommand& command) {
  std::vector<std::string> argv{command.shim_program,
                                "shim",
                                std::to_string(command.expires_at.since_origin.count()),
                                std::to_string(command.lease.count()),
                                std::to_string(first_descriptor_limit()),
                                "--"};
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  return argv;
}

// Shims and helpers that were started and whose end was not seen yet. A start holds the lock, so that a new one is
// never taken for an orphan.
struct LiveShims {
  std::mutex mutex;
  std::set<pid_t> pids;
};

LiveShims& live_shims() {
  static LiveShims& live = *new LiveShims;  // threads may outlive static destruction
  return live;
}

void make_nonblocking(const UniqueFd& fd) {
  CHECK(::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0);
}

}  // namespace

Result<ShimProcess> start_shim(const AgentCommand& command) {
  CHECK(!command.argv.empty());
  auto pipes = TRY(make_pipes());

  ShimProcess shim;
  FileActions actions(pipes);
  if (!command.folder.empty()) actions.change_folder(command.folder);
  const Attributes attributes;
  std::vector<std::string> argv = shim_argv(command);
  std::vector<std::string> environment = command.environment;
  const std::scoped_lock lock(live_shims().mutex);
  const int error_number = ::posix_spawn(&shim.pid, command.shim_program.c_str(), actions.get(), attributes.get(),
                                         pointers(argv).data(), pointers(environment).data());
  if (error_number != 0) return cannot("start the supervising process", error_number);

  // Before one more descriptor is needed: the agent may have begun.
  for (UniqueFd* fd : {&pipes.in.read_end, &pipes.out.write_end, &pipes.err.write_end, &pipes.control.read_end,
                       &pipes.status.write_end}) {
    fd->reset();
  }
  shim.pidfd = UniqueFd(pidfd_open(shim.pid));
  if (!shim.pidfd.is_open()) {
    const int why = errno;
    ::kill(shim.pid, SIGKILL);
    ::waitpid(shim.pid, nullptr, 0);
    return cannot("watch the supervising process", why);
  }
  live_shims().pids.insert(shim.pid);
  // Some agents do not wait until a full pipe takes the rest. As much as the system allows.
  ::fcntl(pipes.out.read_end.get(), F_SETPIPE_SZ, kOutputPipeBytes);
  shim.control = std::move(pipes.control.write_end);
  shim.status = std::move(pipes.status.read_end);
  shim.in = std::move(pipes.in.write_end);
  shim.out = std::move(pipes.out.read_end);
  shim.err = std::move(pipes.err.read_end);
  for (const UniqueFd* fd : {&shim.control, &shim.status, &shim.in, &shim.out, &shim.err}) make_nonblocking(*fd);
  return shim;
}

Result<Helper> start_helper(std::vector<std::string> argv) {
  auto pipe = TRY(make_pipe());
  Helper helper{.pid = -1, .in = std::move(pipe.write_end)};
  FileActions actions;
  actions.move(pipe.read_end, STDIN_FILENO);
  actions.open_null(STDOUT_FILENO);
  actions.open_null(STDERR_FILENO);
  actions.close_from(STDERR_FILENO + 1);
  const Attributes attributes;
  const std::scoped_lock lock(live_shims().mutex);
  const int error_number =
      ::posix_spawn(&helper.pid, argv.front().c_str(), actions.get(), attributes.get(), pointers(argv).data(), environ);
  if (error_number != 0) return cannot("start a helper", error_number);
  live_shims().pids.insert(helper.pid);
  return helper;
}

void end_helper(pid_t pid) {
  const std::scoped_lock lock(live_shims().mutex);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  live_shims().pids.erase(pid);
}

void become_subreaper() {
  CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
}

std::size_t kill_orphans() {
  const std::scoped_lock lock(live_shims().mutex);
  kill_children_of_self(live_shims().pids);
  const std::vector<pid_t> found = children_of_self(live_shims().pids);
  for (const pid_t pid : found) ::waitpid(pid, nullptr, WNOHANG);
  return found.size();
}

bool has_ended(const ShimProcess& shim) {
  const std::scoped_lock lock(live_shims().mutex);
  siginfo_t info{};
  const int waited = ::waitid(P_PIDFD, static_cast<id_t>(shim.pidfd.get()), &info, WEXITED | WNOHANG);
  // A program that ignores SIGCHLD has no status to take.
  const bool ended = waited == 0 ? info.si_pid != 0 : errno == ECHILD;
  if (ended) live_shims().pids.erase(shim.pid);
  return ended;
}

void wake_shim(const ShimProcess& shim) {
  pidfd_send_signal(shim.pidfd.get(), SIGCONT);
}

void kill_shim(const ShimProcess& shim) {
  pidfd_send_signal(shim.pidfd.get(), SIGKILL);
}

}  // namespace drover
