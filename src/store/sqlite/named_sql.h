// Statements by name out of an embedded .sql file: each starts after a line "-- name: NAME" and ends at the next one.
#pragma once

#include <string_view>

namespace drover::sqlite {

// Compile-time: a name that is not there does not compile.
[[nodiscard]] consteval std::string_view named_sql(std::string_view file, std::string_view name) {
  constexpr std::string_view kMark = "-- name: ";
  std::size_t at = file.find(kMark);
  while (at != std::string_view::npos) {
    const std::size_t line_end = file.find('\n', at);
    const std::size_t next = file.find(kMark, line_end);
    if (file.substr(at + kMark.size(), line_end - at - kMark.size()) == name) {
      return file.substr(line_end + 1, next == std::string_view::npos ? next : next - line_end - 1);
    }
    at = next;
  }
  throw "no statement of that name";
}

}  // namespace drover::sqlite
