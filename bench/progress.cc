#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace drover::bench {

Progress::Progress(int steps) : steps_(steps), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::begin(std::string_view step) {
  constexpr int kWidth = 30;
  const int filled = kWidth * done_ / steps_;
  ++done_;
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", kWidth - filled, done_, steps_, step);
    std::fflush(stderr);
  } else {
    fmt::print(stderr, "bench: {}/{} {}\n", done_, steps_, step);
  }
}

}  // namespace drover::bench
