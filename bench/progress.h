// How far a long run is, on stderr: a bar on a terminal, a line for each step otherwise.
#pragma once

#include <string>
#include <string_view>

namespace drover::bench {

class Progress {
 public:
  explicit Progress(int steps);
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(std::string_view step);

 private:
  const int steps_;
  const bool terminal_;
  int done_ = 0;
};

}  // namespace drover::bench
