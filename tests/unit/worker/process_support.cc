#include "unit/worker/process_support.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "worker/worker_loop.h"

namespace drover::test {
namespace {

bool is_readable_within(int fd, Millis bound) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(bound.count())) == 1;
}

}  // namespace

std::string describe(const RunEnded& ended) {
  if (const auto* completion = std::get_if<Completion>(&ended.end)) {
    return fmt::format("completed with {}", completion->result.value_or("nothing"));
  }
  if (const auto* failure = std::get_if<Failure>(&ended.end)) {
    return fmt::format("failed as {}: {}", name_of(failure->error_class), failure->message);
  }
  return std::holds_alternative<Release>(ended.end) ? "released" : "cancelled";
}

// Opened for both, so that neither side waits for the other to open.
PidPipe::PidPipe(std::string path) : path_(std::move(path)) {
  if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo " + path_);
  fd_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
}

pid_t PidPipe::wait(Millis bound) {
  const auto give_up_at = std::chrono::steady_clock::now() + bound;
  while (buffered_.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<Millis>(give_up_at - std::chrono::steady_clock::now());
    if (left <= Millis{0} || !is_readable_within(fd_.get(), left)) return -1;
    std::array<char, 256> buffer;
    const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
    if (size > 0) buffered_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const pid_t pid = std::atoi(buffered_.c_str());
  buffered_.erase(0, buffered_.find('\n') + 1);
  return pid;
}

Watched::Watched(pid_t pid) : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
  if (pid <= 0) throw std::runtime_error("no process told its pid");
}

bool Watched::ends_within(Millis bound) const {
  return !pidfd_.is_open() || is_readable_within(pidfd_.get(), bound);
}

Child::Child(std::vector<std::string> argv) {
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (::posix_spawn(&pid_, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + argv[0]);
  }
}

Child::~Child() {
  ::kill(pid_, SIGKILL);
  ::kill(pid_, SIGCONT);
  ::waitpid(pid_, nullptr, 0);
}

void Child::send(int signal) const {
  ::kill(pid_, signal);
}

ProcessRunsOptions RunsFixture::default_options() {
  return {.worker_id = new_worker_id(),
          .runners = {.for_all = RunnerProfile{{AGENTSIM_BIN}, {}}},
          .lease = Millis{60'000},
          .grace = Millis{300}};
}

RunsFixture::RunsFixture(ProcessRunsOptions options) {
  options.state_dir = dir.file("state");
  runs_ = std::make_unique<ProcessRuns>(queue, std::move(options), [this] {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  });
}

Lease RunsFixture::start(ClaimedTask claimed, Millis lease) {
  const Lease id = claimed.lease;
  runs_->start(std::move(claimed), system_clock().mono() + lease);
  return id;
}

Lease RunsFixture::start_agent(const std::string& payload) {
  ClaimedTask claimed = numbered_task(++tasks_);
  claimed.task.payload = payload;
  return start(std::move(claimed));
}

RunEnded RunsFixture::wait_ended(Millis bound) {
  std::unique_lock lock(mutex_);
  const bool in_time = changed_.wait_for(lock, bound, [&] {
    for (RunEnded& ended : runs_->take_ended()) ended_.push_back(std::move(ended));
    return !ended_.empty();
  });
  if (!in_time) throw std::runtime_error("no run ended in time");
  RunEnded ended = std::move(ended_.front());
  ended_.erase(ended_.begin());
  return ended;
}

std::string RunsFixture::output_path(const Lease& lease) const {
  return dir.file(fmt::format("state/runs/{}.1/output.log", lease.task.to_string()));
}

}  // namespace drover::test
