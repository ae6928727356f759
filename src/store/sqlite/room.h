// Whether the disk has room for new tasks, and what to do when it has none.
//
// Room is what is free and what the ballast keeps. New tasks are refused below one and a half times the ballast; the
// work that is already there goes on, from the ballast when nothing else is left. Called by the thread that holds the
// lock.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "store/sqlite/side_files.h"

namespace drover::sqlite {

class Room {
 public:
  Room(SideFiles& side_files, const Clock& clock, std::int64_t ballast_bytes)
      : side_files_(side_files), clock_(clock), ballast_bytes_(ballast_bytes) {}

  // Looks at the disk at most once a second, and brings the ballast back when there is room for it.
  [[nodiscard]] bool admits_new_tasks();
  // The disk is full: gives the ballast up. False if there was none.
  [[nodiscard]] bool use_ballast();

 private:
  void look();

  SideFiles& side_files_;
  const Clock& clock_;
  const std::int64_t ballast_bytes_;
  std::optional<MonoTime> looked_at_;
  bool admits_ = true;
};

}  // namespace drover::sqlite
