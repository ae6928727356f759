#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include "base/unique_fd.h"

namespace drover::bench {
namespace {

constexpr int kExitNotStarted = 127;

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, int out) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(out >= 0 ? out : ::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  ::execvp(argv[0], argv.data());
  ::_exit(kExitNotStarted);
}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int Child::wait() {
  int status = 0;
  if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0)
    throw std::system_error(errno, std::generic_category(), "wait");
  return exit_code_of(status);
}

bool Child::has_ended() {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

std::string output_of(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  Child child(arguments, out.get());
  out.reset();
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t size = 0; (size = ::read(in.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  if (const int code = child.wait(); code != 0) {
    throw std::runtime_error(fmt::format("{} failed with exit code {}", fmt::join(arguments, " "), code));
  }
  return text;
}

bool is_installed(const std::string& program) {
  Child child({"sh", "-c", fmt::format("command -v {}", program)});
  return child.wait() == 0;
}

}  // namespace drover::bench
