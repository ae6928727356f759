// A wall clock that a test sets while programs run on it: tests/shifted_clock, preloaded into them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drover/time.h"
#include "support/temp_dir.h"

namespace drover::test {

class ShiftedClock {
 public:
  explicit ShiftedClock(Millis ahead = Millis{0});
  ~ShiftedClock();
  ShiftedClock(const ShiftedClock&) = delete;
  ShiftedClock& operator=(const ShiftedClock&) = delete;

  // From now on it is so far ahead of the machine's, in every program that runs on it.
  void set_ahead(Millis ahead) { ahead_ms_->store(ahead.count()); }
  [[nodiscard]] Millis ahead() const { return Millis(ahead_ms_->load()); }
  // What a program's environment must say to run on it.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment() const;

 private:
  TempDir dir_;
  std::atomic<std::int64_t>* ahead_ms_ = nullptr;  // in a file that the programs map
};

}  // namespace drover::test
