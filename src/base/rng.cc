#include "base/rng.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace drover {
namespace {

// Grows in the child of every fork, so that parent and child never hand out the same buffered bytes.
std::atomic<std::uint64_t> fork_generation{1};

void fill_from_kernel(std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::getrandom(bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    CHECK_MSG(got > 0, "getrandom failed");
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

struct Buffer {
  std::array<std::uint64_t, 32> words{};
  std::size_t used = words.size();
  std::uint64_t generation = 0;
};

class SystemRng final : public Rng {
 public:
  SystemRng() {
    const int failed = ::pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });
    CHECK_MSG(failed == 0, "pthread_atfork failed");
  }

  std::uint64_t next() override {
    static thread_local Buffer buffer;
    const std::uint64_t generation = fork_generation.load(std::memory_order_relaxed);
    if (buffer.used == buffer.words.size() || buffer.generation != generation) {
      fill_from_kernel(reinterpret_cast<std::uint8_t*>(buffer.words.data()), sizeof buffer.words);
      buffer.used = 0;
      buffer.generation = generation;
    }
    // Leases are secrets: what was handed out does not stay here.
    return std::exchange(buffer.words[buffer.used++], 0);
  }
};

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

template <class Bytes>
void put_big_endian(Bytes& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
}

// RFC 9562 section 5.7: 48 bits of milliseconds, version 7, 12 random bits, variant 2, 62 random bits.
TaskId make_task_id(Time now, std::uint64_t random_12, std::uint64_t random_62) {
  constexpr std::int64_t kMillisMax = (std::int64_t{1} << 48) - 1;
  const auto millis =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(now.time_since_epoch().count(), 0, kMillisMax));
  TaskId::Bytes bytes{};
  put_big_endian(bytes, 0, millis << 16 | 0x7000 | random_12);
  put_big_endian(bytes, 8, std::uint64_t{1} << 63 | random_62);
  return TaskId(bytes);
}

}  // namespace

std::uint64_t Rng::below(std::uint64_t bound) {
  CHECK(bound > 0);
  // 2^64 mod bound values are one too many; throwing them away leaves every remainder equally likely.
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t value = next();
  while (value < surplus) value = next();
  return value % bound;
}

double Rng::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

SeededRng::SeededRng(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix64(seed);
}

std::uint64_t SeededRng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Rng& system_rng() {
  // Never destroyed: other static objects may draw while they end.
  static SystemRng& rng = *new SystemRng;
  return rng;
}

TaskId new_task_id(Rng& rng, Time now) {
  const std::uint64_t high = rng.next() >> 52;
  return make_task_id(now, high, rng.next() >> 2);
}

// The first 64 random bits of each are drawn and sorted before the rest: sorting ids takes three times as long.
std::vector<TaskId> new_task_ids(Rng& rng, Time now, std::size_t count) {
  std::vector<std::uint64_t> firsts(count);
  std::ranges::generate(firsts, [&] { return rng.next(); });
  std::ranges::sort(firsts);
  std::vector<TaskId> ids;
  ids.reserve(count);
  for (const std::uint64_t first : firsts) {
    ids.push_back(make_task_id(now, first >> 52, first << 12 >> 2 | rng.next() >> 54));
  }
  return ids;
}

LeaseId new_lease_id(Rng& rng) {
  LeaseId::Bytes bytes{};
  put_big_endian(bytes, 0, rng.next());
  put_big_endian(bytes, 8, rng.next());
  return LeaseId(bytes);
}

}  // namespace drover
