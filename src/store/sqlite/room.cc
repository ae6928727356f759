#include "store/sqlite/room.h"

#include "base/log.h"

namespace drover::sqlite {
namespace {

constexpr Millis kLookEvery{1'000};

}  // namespace

bool Room::admits_new_tasks() {
  if (ballast_bytes_ == 0) return true;
  if (!looked_at_ || clock_.mono() - *looked_at_ >= kLookEvery) look();
  return admits_;
}

void Room::look() {
  looked_at_ = clock_.mono();
  SideFiles::Room room = side_files_.room();
  if (room.ballast_bytes == 0 && room.free_bytes >= 2 * ballast_bytes_) {
    side_files_.restore_ballast();
    room = side_files_.room();
  }
  const bool admitted = admits_;
  admits_ = room.free_bytes + room.ballast_bytes >= ballast_bytes_ + ballast_bytes_ / 2;
  if (admitted && !admits_) {
    log_warn("store", "the disk is nearly full: new tasks are refused",
             {{"free_bytes", std::to_string(room.free_bytes)}});
  } else if (!admitted && admits_) {
    log_info("store", "the disk has room again: new tasks are accepted");
  }
}

bool Room::use_ballast() {
  looked_at_.reset();
  if (!side_files_.drop_ballast()) return false;
  log_warn("store", "the disk is full: the ballast was given up so that running work can settle");
  return true;
}

}  // namespace drover::sqlite
