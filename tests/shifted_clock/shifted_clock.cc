// Preloaded into a program (LD_PRELOAD): its wall clock is DROVER_CLOCK_AHEAD_S seconds ahead, as on a machine whose
// clock nobody sets. Links nothing, so that it goes into any program.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t ahead_s() {
  const char* text = std::getenv("DROVER_CLOCK_AHEAD_S");  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead_s();
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
