// Side files for a store that is alone on its disk, or only looks on: no lock, no bell, all the room in the world.
#pragma once

#include "store/sqlite/side_files.h"

namespace drover::sim {

class QuietSideFiles final : public SideFiles {
 public:
  Status lock(Millis /*wait*/) override { return {}; }
  void unlock() override {}
  void ring() override {}
  void wait_for_ring(Millis /*timeout*/) override {}
  void stop_waiting() override {}
  Room room() override { return {}; }
  bool drop_ballast() override { return false; }
  void restore_ballast() override {}
};

}  // namespace drover::sim
