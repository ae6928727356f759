#include "core/trace.h"

#include <algorithm>

namespace drover {
namespace {

constexpr std::size_t kTraceparentChars = 55;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() != kTraceparentChars || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2);
  return is_hex(version) && version != "ff" && is_id(text.substr(3, 32)) && is_id(text.substr(36, 16)) &&
         is_hex(text.substr(53));
}

void continue_trace(std::string_view traceparent, std::span<TaskSpec> tasks) {
  if (!is_traceparent(traceparent)) return;
  for (TaskSpec& task : tasks) {
    if (!task.traceparent) task.traceparent = traceparent;
  }
}

}  // namespace drover
