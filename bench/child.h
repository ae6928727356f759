// A program that runs beside the measurements and ends with them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace drover::bench {

class Child {
 public:
  // `out`: what becomes its standard output; -1 throws that away.
  explicit Child(const std::vector<std::string>& arguments, int out = -1);
  ~Child();  // kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for its end; its exit code, or -1 if a signal ended it.
  int wait();
  [[nodiscard]] bool has_ended();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// Runs a program to its end. What it wrote to its standard output; throws if it failed.
[[nodiscard]] std::string output_of(const std::vector<std::string>& arguments);

[[nodiscard]] bool is_installed(const std::string& program);

}  // namespace drover::bench
