// An Output whose text a test can read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cli/output.h"

namespace drover::cli {

class CapturedOutput {
 public:
  explicit CapturedOutput(Look look = {}) : fd_(::memfd_create("output", 0)), output_(fd_, look) {}
  ~CapturedOutput() { ::close(fd_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  [[nodiscard]] Output& output() { return output_; }
  // What was written since the last call.
  [[nodiscard]] std::string take() {
    std::string text(1 << 16, '\0');
    const ssize_t size = ::pread(fd_, text.data(), text.size(), read_);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    read_ += size > 0 ? size : 0;
    return text;
  }

 private:
  int fd_;
  Output output_;
  off_t read_ = 0;
};

}  // namespace drover::cli
