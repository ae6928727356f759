// How far long work has come: one line on a terminal that is drawn over, and is gone when the work is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/output.h"

namespace drover::cli {

class ProgressBar {
 public:
  // The output outlives it. Nothing is drawn unless that is a terminal.
  ProgressBar(Output& out, std::string what, std::int64_t total) : out_(out), what_(std::move(what)), total_(total) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws now and then, and not before the work has taken a moment.
  void show(std::int64_t done, MonoTime now);
  void clear();

 private:
  [[nodiscard]] std::string line(std::int64_t done) const;

  Output& out_;
  const std::string what_;
  const std::int64_t total_;
  std::optional<MonoTime> draws_at_;
  bool drawn_ = false;
};

}  // namespace drover::cli
