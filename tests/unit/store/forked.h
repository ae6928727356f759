// Other processes, for tests of stores on one file.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hooks/test_hooks.h"

namespace drover::test {

// Another process, forked off to run `body`; killed at the end if it still lives.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    int code = 1;
    try {
      body();
      code = ::testing::Test::HasFailure() ? 1 : 0;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ::_exit(code);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool waits_stopped() const {
    int status = 0;
    return ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
  }
  void send(int signal) const { ::kill(pid_, signal); }
  // Its exit code, or minus the signal that ended it.
  [[nodiscard]] int end() {
    int status = 0;
    if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1000;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  ::pid_t pid_;
};

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void say() { ASSERT_EQ(::write(ends_[1], "x", 1), 1); }
  void hear() {
    char byte = 0;
    ASSERT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2]{};
};

// This process sends itself the signal at that step.
inline void die_at(const std::string& name, int signal) {
  set_failpoint_handler([name, signal](std::string_view passed) {
    if (passed == name) ::raise(signal);
  });
}

}  // namespace drover::test
