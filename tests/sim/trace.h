// What happened in a simulation, line by line: the last lines as text, all of them as a hash.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "drover/time.h"

namespace drover::sim {

class Trace {
 public:
  // Two runs of one plan are the same run if every line was the same.
  template <class... Args>
  void add(Millis now, fmt::format_string<Args...> format, Args&&... args) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{:>9.3f} ", static_cast<double>(now.count()) / 1000);
    fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    take_line();
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] std::string tail() const;
  // Writes every line to stderr as it comes.
  void echo() { echo_ = true; }

 private:
  static constexpr std::size_t kTailLines = 60;

  void take_line();

  std::string line_;
  std::deque<std::string> tail_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
  std::uint64_t lines_ = 0;
  bool echo_ = false;
};

}  // namespace drover::sim
