// Lines from a file descriptor, bounded: one that is too long is passed over, and known for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover::mcp {

// Cuts bytes into lines, without reading anything itself.
class LineCutter {
 public:
  explicit LineCutter(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // The lines that are whole by now, without their ends; nothing stands for one that was too long. Empty lines do not
  // count.
  [[nodiscard]] std::vector<std::optional<std::string>> add(std::string_view bytes);
  // What came after the last end of a line.
  [[nodiscard]] std::optional<std::string> rest();

 private:
  const std::size_t bytes_max_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace drover::mcp
