#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace drover {

// Allocates nothing: the failed check may be about memory.
void check_failed(const char* file, int line, const char* condition, std::string_view detail) {
  char text[1024];
  const char* separator = detail.empty() ? "" : ": ";
  const int detail_chars = static_cast<int>(std::min<std::size_t>(detail.size(), 512));
  const int wanted = std::snprintf(text, sizeof text, "CHECK failed at %s:%d: %s%s%.*s\n", file, line, condition,
                                   separator, detail_chars, detail.data());
  const std::size_t size = std::min(sizeof text - 1, static_cast<std::size_t>(std::max(wanted, 0)));
  // Nothing is left to do about a failed write: the abort below tells its own story.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
  std::abort();
}

}  // namespace drover
