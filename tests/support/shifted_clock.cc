#include "support/shifted_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <stdexcept>

#include "base/unique_fd.h"

namespace drover::test {

ShiftedClock::ShiftedClock(Millis ahead) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && sizeof(*ahead_ms_) == sizeof(std::int64_t));
  const UniqueFd file(::open(dir_.file("ahead").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() || ::ftruncate(file.get(), sizeof *ahead_ms_) != 0)
    throw std::runtime_error("no file for a clock");
  void* mapped = ::mmap(nullptr, sizeof *ahead_ms_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map the file of a clock");
  ahead_ms_ = new (mapped) std::atomic<std::int64_t>(ahead.count());
}

ShiftedClock::~ShiftedClock() {
  ::munmap(ahead_ms_, sizeof *ahead_ms_);
}

std::vector<std::pair<std::string, std::string>> ShiftedClock::environment() const {
  // AddressSanitizer insists on being the first library, which does not matter here.
  return {{"LD_PRELOAD", SHIFTED_CLOCK},
          {"DROVER_CLOCK_FILE", dir_.file("ahead")},
          {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
}

}  // namespace drover::test
