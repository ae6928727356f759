// What help says beyond the flags: one line per command, and notes with examples.
#pragma once

#include <string_view>

namespace drover::cli {

struct VerbText {
  std::string_view name;  // "config apply"; empty: drover itself
  std::string_view summary;
  std::string_view footer;
};

// Every command has one.
[[nodiscard]] const VerbText& verb_text(std::string_view name);

}  // namespace drover::cli
