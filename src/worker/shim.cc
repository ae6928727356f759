#include "worker/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "worker/fence.h"
#include "worker/process_tree.h"
#include "worker/shim_protocol.h"

namespace drover {
namespace {

// How long what the agent left behind may go on writing output after its exit.
constexpr Millis kLeftoversMax{2'000};
// Between two passes over a tree that is being killed.
constexpr Millis kKillPass{5};
constexpr int kExitUsage = 2;
constexpr int kExitExecFailed = 127;

[[noreturn]] void exec_agent(char** argv, int error_fd, pid_t shim, rlim_t descriptors) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(kExitExecFailed);  // it died before the line above

  const rlimit no_core{0, 0};  // memory of an agent holds secrets
  ::setrlimit(RLIMIT_CORE, &no_core);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(descriptors, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  sigset_t none;
  sigemptyset(&none);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  ::execvp(argv[0], argv);
  const int error_number = errno;
  [[maybe_unused]] const ssize_t written = ::write(error_fd, &error_number, sizeof error_number);
  ::_exit(kExitExecFailed);
}

class Shim {
 public:
  Shim(MonoTime expires_at, Millis lease, rlim_t descriptors)
      : expires_at_(expires_at), lease_(lease), descriptors_(descriptors) {}

  int run(char** argv) {
    if (!(prepare() || spawn_failed(errno)) || !spawn(argv)) return EXIT_FAILURE;
    while (reap() == Tree::kAlive) {
      act(system_clock().mono());
      wait(system_clock().mono());
    }
    return EXIT_SUCCESS;
  }

 private:
  enum class Phase : std::uint8_t { kRunning, kStopping, kKilling };
  enum class Tree : std::uint8_t { kAlive, kGone };

  bool prepare() {
    ::prctl(PR_SET_NAME, "drover-shim");
    ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // its agent may have stopped it: the worker's death lets it go on, and notice
    ::fcntl(kShimControlFd, F_SETFD, FD_CLOEXEC);
    ::fcntl(kShimControlFd, F_SETFL, O_NONBLOCK);
    ::fcntl(kShimStatusFd, F_SETFD, FD_CLOEXEC);
    // Only the worker's word, or its silence, ends a shim: signals that reach every process of a terminal or of a
    // machine going down do not.
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&blocked, signal);
    ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    child_signals_ = UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    return child_signals_.is_open() && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  }

  // The pipe closes on exec; what comes out of it is why there was none.
  bool spawn(char** argv) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return spawn_failed(errno);
    UniqueFd error_out(ends[0]);
    UniqueFd error_in(ends[1]);
    const pid_t shim = ::getpid();
    agent_ = ::fork();
    if (agent_ < 0) return spawn_failed(errno);
    if (agent_ == 0) exec_agent(argv, error_in.get(), shim, descriptors_);
    error_in.reset();
    let_go_of_stdio();

    int error_number = 0;
    ssize_t size = 0;
    do size = ::read(error_out.get(), &error_number, sizeof error_number);
    while (size < 0 && errno == EINTR);
    if (size > 0) return spawn_failed(error_number);
    report(AgentStarted{agent_});
    return true;
  }

  bool spawn_failed(int error_number) {
    report(SpawnFailed{error_number});
    return false;
  }

  // The agent's pipes are to end with the agent.
  static void let_go_of_stdio() {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
  }

  // Every process beneath is a child, or has a living ancestor that is one: no children means that nothing is left.
  Tree reap() {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0) {
        if (errno == EINTR) continue;
        return Tree::kGone;
      }
      if (info.si_pid == 0) return Tree::kAlive;
      if (info.si_pid == agent_) agent_ended(info);
    }
  }

  void agent_ended(const siginfo_t& info) {
    agent_is_gone_ = true;
    kill_at_ = std::min(kill_at_, system_clock().mono() + kLeftoversMax);
    if (info.si_code == CLD_EXITED) {
      report(AgentExited{info.si_status, ended_by_});
    } else {
      report(AgentKilled{info.si_status, ended_by_});
    }
  }

  void act(MonoTime now) {
    if (phase_ == Phase::kRunning && now >= fence_at(expires_at_, lease_)) {
      ended_by_ = EndedBy::kFence;
      stop(fence_kill_at(expires_at_, lease_));
    }
    if (now >= std::min(kill_at_, fence_kill_at(expires_at_, lease_))) start_killing(EndedBy::kFence);
    if (agent_is_gone_ && output_closed_) start_killing(EndedBy::kStop);
    if (phase_ == Phase::kKilling) kill_children_of_self({});
  }

  void stop(MonoTime kill_at) {
    phase_ = Phase::kStopping;
    kill_at_ = std::min(kill_at_, kill_at);
    if (!agent_is_gone_) ::killpg(agent_, SIGTERM);
    for (const pid_t pid : descendants_of(::getpid())) {
      if (::getpgid(pid) != agent_) ::kill(pid, SIGTERM);
    }
  }

  // `by` stands only if nothing was asked of the agent before.
  void start_killing(EndedBy by) {
    if (phase_ == Phase::kRunning && !agent_is_gone_) ended_by_ = by;
    phase_ = Phase::kKilling;
  }

  void wait(MonoTime now) {
    std::array<pollfd, 2> fds{{{child_signals_.get(), POLLIN, 0}, {kShimControlFd, POLLIN, 0}}};
    const nfds_t count = control_is_open_ ? 2 : 1;
    const Millis timeout = std::clamp(until_next(now), Millis{0}, Millis{60'000});
    if (::poll(fds.data(), count, static_cast<int>(timeout.count())) <= 0) return;
    if (fds[0].revents != 0) drain_child_signals();
    if (count == 2 && fds[1].revents != 0) read_control();
  }

  Millis until_next(MonoTime now) const {
    if (phase_ == Phase::kKilling) return kKillPass;
    MonoTime next = std::min(kill_at_, fence_kill_at(expires_at_, lease_));
    if (phase_ == Phase::kRunning) next = std::min(next, fence_at(expires_at_, lease_));
    return next - now;
  }

  void drain_child_signals() {
    signalfd_siginfo info{};
    while (::read(child_signals_.get(), &info, sizeof info) > 0) {
    }
  }

  void read_control() {
    std::array<char, 1024> buffer;
    const ssize_t size = ::read(kShimControlFd, buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      control_is_open_ = false;
      start_killing(EndedBy::kFence);
      return;
    }
    for (const std::string& line : lines_.feed({buffer.data(), static_cast<std::size_t>(size)})) {
      if (const auto order = parse_order(line)) obey(*order);
    }
  }

  void obey(const ShimOrder& order) {
    if (const auto* lease = std::get_if<LeaseUntil>(&order)) expires_at_ = lease->expires_at;
    if (std::holds_alternative<OutputClosed>(order)) output_closed_ = true;
    if (std::holds_alternative<InterruptAgent>(order) && phase_ == Phase::kRunning && !agent_is_gone_) {
      ended_by_ = EndedBy::kStop;
      ::killpg(agent_, SIGINT);
    }
    if (const auto* asked = std::get_if<StopWithin>(&order)) {
      const MonoTime kill_at = system_clock().mono() + asked->grace;
      if (phase_ == Phase::kRunning) {
        if (!agent_is_gone_) ended_by_ = EndedBy::kStop;
        stop(kill_at);
      }
      kill_at_ = std::min(kill_at_, kill_at);
    }
  }

  static void report(const ShimReport& what) {
    const std::string line = format_report(what);
    // Nobody reads: the worker is gone, and the closed control pipe says so too.
    [[maybe_unused]] const ssize_t written = ::write(kShimStatusFd, line.data(), line.size());
  }

  MonoTime expires_at_;
  const Millis lease_;
  const rlim_t descriptors_;  // the agent's soft limit
  Phase phase_ = Phase::kRunning;
  EndedBy ended_by_ = EndedBy::kItself;
  MonoTime kill_at_{Millis::max()};
  pid_t agent_ = -1;
  bool agent_is_gone_ = false;
  bool output_closed_ = false;
  bool control_is_open_ = true;
  UniqueFd child_signals_;
  LineReader lines_;
};

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

int shim_main(int argc, char** argv) {
  // argv: PROGRAM shim EXPIRES_MS LEASE_MS DESCRIPTORS -- ARGV...
  if (argc < 7 || std::string_view(argv[5]) != "--") return kExitUsage;
  const auto expires = parse<Millis::rep>(argv[2]);
  const auto lease = parse<Millis::rep>(argv[3]);
  const auto descriptors = parse<rlim_t>(argv[4]);
  if (!expires || !lease || !descriptors) return kExitUsage;
  return Shim({Millis(*expires)}, Millis(*lease), *descriptors).run(argv + 6);
}

}  // namespace drover
