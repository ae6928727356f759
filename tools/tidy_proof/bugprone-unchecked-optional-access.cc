#include <optional>

int value(std::optional<int> maybe) {
  return *maybe;  // flagged
}

int checked(std::optional<int> maybe) { return maybe ? *maybe : 0; }
