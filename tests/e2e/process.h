// A program that a test has started: its output, its end, and no way to outlive the test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "drover/time.h"

namespace drover::e2e {

struct Command {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::filesystem::path folder;          // where it runs
  std::string input;                     // its stdin
};

// How a process ended: one of the two is set.
struct Exit {
  std::optional<int> code;
  std::optional<int> signal;

  bool operator==(const Exit&) const = default;
};
void PrintTo(const Exit& exit, std::ostream* out);

class Process {
 public:
  explicit Process(const Command& command);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // How it ended; nothing if it has not within the bound.
  [[nodiscard]] std::optional<Exit> wait(Millis bound);
  // The next line of stdout without its end; nothing if none came within the bound, or stdout is closed.
  [[nodiscard]] std::optional<std::string> read_line(Millis bound);
  // All of stdout that read_line has not taken, up to its end or the bound.
  [[nodiscard]] std::string read_rest(Millis bound);
  // What it has written to stderr so far.
  [[nodiscard]] std::string errors() const;

 private:
  [[nodiscard]] bool read_some(Millis bound);

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd out_;
  UniqueFd err_;
  std::string unread_;
  std::optional<Exit> exit_;
};

struct Outcome {
  int exit_code = -1;  // 128 + the signal's number if one ended it
  std::string out;
  std::string err;
  Millis took{0};
};
void PrintTo(const Outcome& outcome, std::ostream* out);

// Runs it to its end. Past the bound it is killed, and the exit code is 137.
[[nodiscard]] Outcome run_to_end(const Command& command, Millis bound);

[[nodiscard]] Millis mono_now();

// ---- processes that somebody else has started

// A process that was started with a certain variable in its environment, and the value.
struct Marked {
  pid_t pid;
  std::string value;
};
[[nodiscard]] std::vector<Marked> processes_with(const std::string& variable);
[[nodiscard]] std::string command_line_of(pid_t pid);

// Watches processes for their end. Pids are pinned at construction, so that a reused one is not taken for another.
class DeathWatch {
 public:
  explicit DeathWatch(const std::vector<pid_t>& pids);

  // Whether all of them have ended within the bound.
  [[nodiscard]] bool all_dead(Millis bound);
  // Those that are left.
  [[nodiscard]] std::vector<pid_t> alive();
  [[nodiscard]] std::size_t size() const { return watched_.size(); }

 private:
  struct Watched {
    pid_t pid;
    UniqueFd pidfd;
  };
  std::vector<Watched> watched_;
};

}  // namespace drover::e2e
