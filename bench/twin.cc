#include "twin.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace drover::bench {

Twin::Twin(const std::string& role, const std::string& store_address) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  words_ = UniqueFd(ends[0]);
  const UniqueFd out(ends[1]);
  process_.emplace(std::vector<std::string>{"/proc/self/exe", role, store_address}, out.get());
}

std::optional<std::int64_t> Twin::read(Millis bound) {
  pollfd one{words_.get(), POLLIN, 0};
  if (::poll(&one, 1, static_cast<int>(bound.count())) <= 0) return std::nullopt;
  std::int64_t at_ns = 0;
  if (::read(words_.get(), &at_ns, sizeof at_ns) != sizeof at_ns) return std::nullopt;
  return at_ns;
}

}  // namespace drover::bench
