// The options that every verb takes, and the choices that several verbs share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/log.h"

namespace drover::cli {

enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };

// What every verb takes.
struct CommonOptions {
  std::optional<std::string> store;       // a store URL
  std::optional<std::string> token_file;  // for a server
  ColorChoice color = ColorChoice::kAuto;
  std::optional<LogLevel> log_level;

  bool operator==(const CommonOptions&) const = default;
};

enum class Format : std::uint8_t {
  kAuto,    // for people on a terminal, tab-separated and without a header otherwise
  kJson,    // one value: an array where there may be several
  kNdjson,  // one JSON object a line
  kWide,    // a table with every column, nothing cut
  kName,    // ids or names alone, one a line
};

inline constexpr int kListLimitDefault = 100;

}  // namespace drover::cli
