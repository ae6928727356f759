// Enumerations whose enumerators are indexes into a table of names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace drover {

template <std::size_t N>
using Names = std::array<std::string_view, N>;

template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const Names<N>& names, Enum value) {
  return names[static_cast<std::size_t>(std::to_underlying(value))];
}

template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> value_in(const Names<N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace drover
