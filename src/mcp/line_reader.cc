#include "mcp/line_reader.h"

#include <utility>

namespace drover::mcp {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::vector<std::optional<std::string>> LineCutter::add(std::string_view bytes) {
  std::vector<std::optional<std::string>> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!too_long_ && line_.size() + part.size() > bytes_max_) {
      too_long_ = true;
      line_ = std::string();
    }
    if (!too_long_) line_ += part;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    std::string line = std::exchange(line_, std::string());
    if (std::exchange(too_long_, false)) {
      lines.emplace_back(std::nullopt);
    } else if (!is_blank(line)) {
      lines.emplace_back(std::move(line));
    }
  }
  return lines;
}

std::optional<std::string> LineCutter::rest() {
  std::string line = std::exchange(line_, std::string());
  if (std::exchange(too_long_, false) || is_blank(line)) return std::nullopt;
  return line;
}

}  // namespace drover::mcp
