// What tests with real processes need: bounded waits for pids and for the end of processes that are not our children.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "support/temp_dir.h"
#include "unit/worker/fake_queue.h"
#include "worker/process_runs.h"

namespace drover::test {

// Longer than anything may take; a test that gets there has failed.
inline constexpr Millis kLong{20'000};

[[nodiscard]] std::string describe(const RunEnded& ended);

// A named pipe through which a process tells its pid (pid_file=…, grandchild=… of agentsim).
class PidPipe {
 public:
  explicit PidPipe(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }
  // The next pid that somebody writes, or -1.
  [[nodiscard]] pid_t wait(Millis bound = kLong);

 private:
  std::string path_;
  UniqueFd fd_;
  std::string buffered_;
};

// Notices the end of any process, also of one that is nobody's child here. Made while it lives.
class Watched {
 public:
  explicit Watched(pid_t pid);
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool ends_within(Millis bound) const;

 private:
  pid_t pid_;
  UniqueFd pidfd_;  // not open: it was gone already
};

// A child process of the test; killed and reaped at the end.
class Child {
 public:
  explicit Child(std::vector<std::string> argv);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;

 private:
  pid_t pid_ = -1;
};

// ProcessRuns over a FakeQueue, with agentsim as the agent. What a run shall do stands in its payload.
class RunsFixture {
 public:
  // Takes the test program as the shim, agentsim for every type, and a lease that nobody needs to renew.
  [[nodiscard]] static ProcessRunsOptions default_options();
  explicit RunsFixture(ProcessRunsOptions options = default_options());

  // Returns its lease.
  Lease start(ClaimedTask claimed, Millis lease = Millis{60'000});
  Lease start_agent(const std::string& payload);
  // The next run that ends; the test fails after the bound.
  [[nodiscard]] RunEnded wait_ended(Millis bound = kLong);
  [[nodiscard]] ProcessRuns& runs() { return *runs_; }
  [[nodiscard]] std::string output_path(const Lease& lease) const;

  TempDir dir;
  FakeQueue queue;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RunEnded> ended_;
  int tasks_ = 0;
  std::unique_ptr<ProcessRuns> runs_;
};

template <class End>
[[nodiscard]] const End& get_end(const RunEnded& ended) {
  const auto* end = std::get_if<End>(&ended.end);
  if (end == nullptr) throw std::runtime_error("the run ended in another way: " + describe(ended));
  return *end;
}

}  // namespace drover::test
