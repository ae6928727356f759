#include "worker/host_name.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace drover {

std::string host_name() {
  constexpr std::size_t kBytesMax = 64;
  std::array<char, kBytesMax + 1> buffer{};
  std::string name = ::gethostname(buffer.data(), kBytesMax) == 0 ? buffer.data() : "";
  std::ranges::replace_if(name, [](char c) { return !is_name(std::string_view(&c, 1)); }, '-');
  return name.empty() ? "localhost" : name;
}

}  // namespace drover
