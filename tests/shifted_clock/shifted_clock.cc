// Preloaded into a program (LD_PRELOAD): its wall clock is as many milliseconds ahead as the file DROVER_CLOCK_FILE
// says, a number of 64 bits that may change while the program runs, as if somebody set the clock of its machine. The
// monotonic clock is left alone. Links nothing, so that it goes into any program.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile std::int64_t* ahead_ms = nullptr;

__attribute__((constructor)) void map_file() {
  const char* path = std::getenv("DROVER_CLOCK_FILE");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped != MAP_FAILED) ahead_ms = static_cast<const volatile std::int64_t*>(mapped);
}

void shift(timespec& now) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ahead = ahead_ms == nullptr ? 0 : *ahead_ms;
  now.tv_sec += ahead / 1'000;
  now.tv_nsec += ahead % 1'000 * 1'000'000;
  if (now.tv_nsec < 0) {
    now.tv_nsec += kSecond;
    --now.tv_sec;
  } else if (now.tv_nsec >= kSecond) {
    now.tv_nsec -= kSecond;
    ++now.tv_sec;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(*now);
  return static_cast<int>(result);
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec exact{};
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1'000;
  return result;
}

time_t time(time_t* now) noexcept {
  timespec exact{};
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}
}
