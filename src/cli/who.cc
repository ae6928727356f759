#include "cli/who.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

#include "base/text.h"

namespace drover::cli {

std::string who() {
  constexpr std::size_t kNameBytesMax = 256;
  std::array<char, kNameBytesMax> host{};
  const bool has_host = ::gethostname(host.data(), host.size() - 1) == 0;
  const passwd* user = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): a command has one thread here
  const std::string name = user != nullptr ? user->pw_name : fmt::format("uid-{}", ::geteuid());
  return to_utf8(fmt::format("{}@{}", name, has_host ? host.data() : "localhost"));
}

}  // namespace drover::cli
