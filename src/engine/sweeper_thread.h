// Runs the sweepers in the background for as long as it lives: when something is due, or something changed.
#pragma once

#include <stop_token>
#include <thread>

#include "engine/sweepers.h"

namespace drover {

class SweeperThread {
 public:
  // The engine outlives it.
  explicit SweeperThread(Engine& engine);
  ~SweeperThread() = default;  // stops and joins

 private:
  static void run(const std::stop_token& stop, Engine& engine);

  std::jthread thread_;
};

}  // namespace drover
