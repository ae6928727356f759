// Reading an enumerator by its name.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"

namespace drover {

// `parse` gives nothing for a name that it does not know.
template <class Enum, class Parse>
[[nodiscard]] Status read_name(std::string_view json, Enum& out, std::string_view what, Parse parse) {
  std::string name;
  TRY(json::read_json(json, name));
  const std::optional<Enum> value = parse(name);
  if (!value) return fail(ErrorCode::kInvalidArgument, fmt::format("unknown {} {}", what, quoted_excerpt(name)));
  out = *value;
  return {};
}

}  // namespace drover
