#include "e2e/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <ostream>
#include <system_error>

namespace drover::e2e {
namespace {

constexpr int kExitNotStarted = 127;
constexpr int kSignalBase = 128;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

UniqueFd memory_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open()) throw_errno("memfd_create");
  return file;
}

UniqueFd input_file(std::string_view text) {
  UniqueFd file = memory_file("stdin");
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0) throw_errno("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the child, between fork and exec: only what is safe there.
struct ChildSetup {
  std::array<int, 3> standard;
  const char* folder;
  char** argv;
  char** environment;
  pid_t parent;
};

[[noreturn]] void become(const ChildSetup& setup) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test program that is killed leaves nothing behind
  if (::getppid() != setup.parent) ::_exit(kExitNotStarted);
  for (int fd = 0; fd < 3; ++fd) ::dup2(setup.standard[static_cast<std::size_t>(fd)], fd);
  if (::chdir(setup.folder) != 0) ::_exit(kExitNotStarted);
  ::execve(setup.argv[0], setup.argv, setup.environment);
  ::_exit(kExitNotStarted);
}

bool is_readable(int fd, Millis bound) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, static_cast<int>(std::max(bound, Millis{0}).count())) > 0;
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Exit exit_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {.code = info.si_status, .signal = std::nullopt};
  return {.code = std::nullopt, .signal = info.si_status};
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void PrintTo(const Exit& exit, std::ostream* out) {
  if (exit.code) *out << "exit code " << *exit.code;
  if (exit.signal) *out << "signal " << *exit.signal;
}

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << "exit code " << outcome.exit_code << "\nstdout: " << outcome.out << "\nstderr: " << outcome.err;
}

Millis mono_now() {
  return std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now().time_since_epoch());
}

Process::Process(const Command& command) {
  const UniqueFd in = input_file(command.input);
  err_ = memory_file("stderr");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("pipe2");
  out_ = UniqueFd(ends[0]);
  const UniqueFd out_write(ends[1]);

  std::vector<char*> argv = pointers(command.argv);
  std::vector<char*> environment = pointers(command.environment);
  const ChildSetup setup{.standard = {in.get(), out_write.get(), err_.get()},
                         .folder = command.folder.c_str(),
                         .argv = argv.data(),
                         .environment = environment.data(),
                         .parent = ::getpid()};
  pid_ = ::fork();
  if (pid_ < 0) throw_errno("fork");
  if (pid_ == 0) become(setup);
  pidfd_ = open_pidfd(pid_);
  if (!pidfd_.is_open()) throw_errno("pidfd_open");
}

Process::~Process() {
  if (exit_) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  if (!exit_) ::kill(pid_, number);
}

std::optional<Exit> Process::wait(Millis bound) {
  if (exit_ || !is_readable(pidfd_.get(), bound)) return exit_;
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  exit_ = exit_of(info);
  return exit_;
}

bool Process::read_some(Millis bound) {
  if (!is_readable(out_.get(), bound)) return false;
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(out_.get(), buffer.data(), buffer.size());
  if (count <= 0) return false;
  unread_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> Process::read_line(Millis bound) {
  const Millis end = mono_now() + bound;
  for (;;) {
    if (const std::size_t newline = unread_.find('\n'); newline != std::string::npos) {
      std::string line = unread_.substr(0, newline);
      unread_.erase(0, newline + 1);
      return line;
    }
    if (!read_some(end - mono_now())) return std::nullopt;
  }
}

std::string Process::read_rest(Millis bound) {
  const Millis end = mono_now() + bound;
  while (read_some(end - mono_now())) {
  }
  return std::exchange(unread_, {});
}

std::string Process::errors() const {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::pread(err_.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Outcome run_to_end(const Command& command, Millis bound) {
  const Millis started = mono_now();
  Process process(command);
  Outcome outcome;
  outcome.out = process.read_rest(bound);
  std::optional<Exit> exit = process.wait(started + bound - mono_now());
  if (!exit) {
    process.signal(SIGKILL);
    exit = process.wait(bound);
  }
  outcome.took = mono_now() - started;
  outcome.err = process.errors();
  if (exit) outcome.exit_code = exit->code ? *exit->code : kSignalBase + *exit->signal;
  return outcome;
}

std::vector<Marked> processes_with(const std::string& variable) {
  std::vector<Marked> found;
  const std::string wanted = std::string(1, '\0') + variable + "=";
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const std::string environment = std::string(1, '\0') + read_whole("/proc/" + name + "/environ");
    if (const std::size_t at = environment.find(wanted); at != std::string::npos) {
      found.push_back({pid, environment.c_str() + at + wanted.size()});
    }
  }
  return found;
}

std::string command_line_of(pid_t pid) {
  std::string text = read_whole(fmt::format("/proc/{}/cmdline", pid));
  std::ranges::replace(text, '\0', ' ');
  return text;
}

DeathWatch::DeathWatch(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    UniqueFd pidfd = open_pidfd(pid);
    if (pidfd.is_open()) watched_.push_back({pid, std::move(pidfd)});  // else it has ended already
  }
}

bool DeathWatch::all_dead(Millis bound) {
  const Millis end = mono_now() + bound;
  return std::ranges::all_of(watched_,
                             [&](const Watched& one) { return is_readable(one.pidfd.get(), end - mono_now()); });
}

std::vector<pid_t> DeathWatch::alive() {
  std::vector<pid_t> pids;
  for (const Watched& one : watched_) {
    if (!is_readable(one.pidfd.get(), Millis{0})) pids.push_back(one.pid);
  }
  return pids;
}

}  // namespace drover::e2e
