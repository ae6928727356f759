#include "worker/undertaker.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/clock.h"
#include "base/log.h"
#include "worker/agent_process.h"
#include "worker/process_tree.h"

namespace drover {
namespace {

// Shims that can, end their trees within this.
constexpr Millis kShimsMax{400};
constexpr Millis kGiveUpAfter{10'000};
constexpr Millis kPass{20};
// Something may fork while /proc is read: nothing is left if it was not seen twice.
constexpr int kEmptyPasses = 2;
constexpr int kExitMisused = 2;

void wait_for_end_of_input() {
  std::array<char, 16> ignored;
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, ignored.data(), ignored.size());
    if (size == 0 || (size < 0 && errno != EINTR)) return;
  }
}

}  // namespace

int undertaker_main(int argc, char** argv) {
  if (argc != 3) return kExitMisused;
  ::prctl(PR_SET_NAME, "drover-undertak");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  wait_for_end_of_input();

  const MonoTime dead_at = system_clock().mono();
  for (int empty = 0; empty < kEmptyPasses;) {
    const MonoTime now = system_clock().mono();
    if (now - dead_at > kGiveUpAfter) return EXIT_FAILURE;
    const bool any = now - dead_at < kShimsMax ? any_with_variable(argv[2]) : kill_with_variable(argv[2]);
    empty = any ? 0 : empty + 1;
    ::poll(nullptr, 0, static_cast<int>(kPass.count()));
  }
  return EXIT_SUCCESS;
}

Undertaker::Undertaker(const std::string& program, const std::string& mark) {
  auto started = start_helper({program, "undertaker", mark});
  if (!started) {
    log_warn("worker", "cannot start the process that cleans up if this worker is killed; working without it",
             {{"error", to_string(started.error())}});
    return;
  }
  pid_ = started->pid;
  alive_ = std::move(started->in);
}

Undertaker::~Undertaker() {
  if (pid_ > 0) end_helper(pid_);
}

}  // namespace drover
