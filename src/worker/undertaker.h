// The undertaker: one small process per worker that outlives it. Each run has its shim; when shim and worker die
// together, or the worker dies while an agent holds its shim stopped, nobody else is left to end the agent's processes.
//
// It waits for the worker's death (the end of its standard input), gives the shims a moment to do their work, then
// kills every process that carries the worker's mark in its environment, and what is beneath those.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace drover {

// drover undertaker MARK. Not for people: the worker starts it.
[[nodiscard]] int undertaker_main(int argc, char** argv);

// A running undertaker; goes with its owner, who has ended all runs by then. A worker can do without one: that it could
// not be started is logged.
class Undertaker {
 public:
  Undertaker(const std::string& program, const std::string& mark);
  ~Undertaker();
  Undertaker(const Undertaker&) = delete;
  Undertaker& operator=(const Undertaker&) = delete;

 private:
  pid_t pid_ = -1;
  UniqueFd alive_;  // its end is the worker's death
};

}  // namespace drover
